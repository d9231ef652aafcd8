// SPDX-License-Identifier: Apache-2.0

/// A pipeline's state in one word.
enum Headline: String, Sendable {
  /// Nothing needs attention.
  case ready
  /// Notifications get through, but something needs attention.
  case degraded
  /// A step that every notification needs does not work: no ready process of a kind, no working destination, no
  /// delivery by any of them since another one was blocked, or Kafka accepts no records.
  case blocked

  /// The exit status of `martlet status`.
  var exitStatus: Int32 {
    switch self {
    case .ready: 0
    case .blocked: 1
    case .degraded: 3
    }
  }

  fileprivate init(_ status: PipelineStatus) {
    if Self.isBlocked(status) {
      self = .blocked
    } else {
      self = StatusText.warnings(status).isEmpty ? .ready : .degraded
    }
  }

  /// The programs that a notification passes through.
  private static let steps = ["api", "ingest", "sender"]

  private static func isBlocked(_ status: PipelineStatus) -> Bool {
    // A destination where APNs refuses an app serves another one: otherwise the state is `credential`.
    let serving = status.destinations.filter { [PipelineStatus.working, "app"].contains($0.name) }
    let hasOnlyBlocked =
      serving.allSatisfy { $0.value == 0 } && status.destinations.contains { $0.value > 0 }
    let isStopped = steps.contains { step in
      let members = status.processes.filter { $0.isNamed(step) }
      return !members.isEmpty && members.allSatisfy { $0.state != .ready }
    }
    let isAllStopped = status.processes.allSatisfy { $0.state != .ready }
    return hasOnlyBlocked || isStopped || isAllStopped || status.producersRefused > 0
      || status.deliversNothing
  }
}

extension PipelineStatus {
  var headline: Headline { Headline(self) }

  /// The time in seconds that a destination must be blocked, with no push accepted, to count as not delivering.
  private static let silence = 60.0

  /// Whether a destination is blocked and APNs has accepted no push since: another destination that is idle does not
  /// prove that pushes get through.
  var deliversNothing: Bool {
    guard let lastAccepted, destinations.contains(where: { $0.name != Self.working }) else {
      return false
    }
    return blockedSeconds >= Self.silence && lastAccepted >= blockedSeconds
  }
}

extension PipelineStatus.Process {
  /// Whether it is a process of this program, such as `sender-1` or `martlet-sender 10.0.0.5:9464`.
  fileprivate func isNamed(_ program: String) -> Bool {
    let prefix = "martlet-"
    return (name.hasPrefix(prefix) ? name.dropFirst(prefix.count) : name[...]).hasPrefix(program)
  }
}
