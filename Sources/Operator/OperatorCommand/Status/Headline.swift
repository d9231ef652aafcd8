// SPDX-License-Identifier: Apache-2.0

/// A pipeline's state in one word.
enum Headline: String, Sendable {
  /// Nothing needs a look.
  case ready
  /// Notifications get through, and something needs a look.
  case degraded
  /// A step that every notification takes does not work: no ready process of a kind, no working destination, none of
  /// them has delivered anything since another one is blocked, or Kafka takes no records.
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

  /// Programs that a notification passes through.
  private static let steps = ["api", "ingest", "sender"]

  private static func isBlocked(_ status: PipelineStatus) -> Bool {
    // Where APNs refuses an app it serves another one: without that the state is `credential`.
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

  /// Seconds for which a destination is blocked and APNs accepts nothing before that counts as not delivering.
  private static let silence = 60.0

  /// True if a destination is blocked, and APNs has accepted no push since: that another one is idle is no sign that
  /// pushes get through.
  var deliversNothing: Bool {
    guard let lastAccepted, destinations.contains(where: { $0.name != Self.working }) else {
      return false
    }
    return blockedSeconds >= Self.silence && lastAccepted >= blockedSeconds
  }
}

extension PipelineStatus.Process {
  /// True if it is a process of this program: `sender-1`, or `martlet-sender 10.0.0.5:9464`.
  fileprivate func isNamed(_ program: String) -> Bool {
    let prefix = "martlet-"
    return (name.hasPrefix(prefix) ? name.dropFirst(prefix.count) : name[...]).hasPrefix(program)
  }
}
