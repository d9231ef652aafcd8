// SPDX-License-Identifier: Apache-2.0
public import Contract
import EventLoop
public import Kafka
import Synchronization

/// Says which rights on Kafka this process lacks: an error with the command that grants each, and the condition `rights`
/// until it is granted. Whoever gets an answer of the cluster's authorizer tells it: `ClusterWatch`, the producers'
/// `ProducerWatch` and the `GroupSession`. Any thread may use it.
public final class RightsBoard: Sendable {
  private let missing = Mutex<MissingRights?>(nil)
  private let log: Logger
  private let status: StatusBoard

  init(_ log: Logger, _ status: StatusBoard) {
    self.log = log
    self.status = status
  }

  /// Sets the rights that this process needs; before, nothing is said.
  func begin(_ rights: KafkaRights, user: String?) {
    missing.withLock { $0 = MissingRights(rights, user: user) }
  }

  var rights: KafkaRights? { missing.withLock { $0?.rights } }

  public func refused(
    _ operation: KafkaRight.Operation, _ resource: KafkaRight.Resource, _ error: KafkaError
  ) {
    note {
      $0.refused(operation, resource, error: error.name, now: MonotonicClock.milliseconds())
    }
  }

  public func allowed(_ operation: KafkaRight.Operation, _ resource: KafkaRight.Resource) {
    note { $0.allowed(operation, resource) }
  }

  /// What was refused may be allowed by now; nobody has tried it since.
  func forget(_ operation: KafkaRight.Operation, _ resource: KafkaRight.Resource) {
    missing.withLock { missing in
      missing?.forget(operation, resource)
      status.set("rights", obstacle: missing?.obstacle)
    }
  }

  /// Takes a listing's answer for the topics that this process needs. One that it does not have and that is not hidden
  /// says nothing.
  func saw(_ listing: TopicListing) {
    let hidden = listing.hidden
    for topic in rights?.topics ?? [] {
      if let error = hidden[topic] {
        refused(.describe, .topic(topic), error)
      } else if listing.sizes[topic] != nil {
        allowed(.describe, .topic(topic))
      }
    }
  }

  private func note(_ change: (inout MissingRights) -> MissingRights.Report?) {
    let report = missing.withLock { missing -> MissingRights.Report? in
      guard let report = missing.flatMap({ _ in change(&missing!) }) else { return nil }
      status.set("rights", obstacle: missing?.obstacle)
      return report
    }
    guard let report else { return }
    if let error = report.error {
      log(
        ServiceKitLog.rightMissing,
        ["needs": report.right, "error": error, "remedy": report.remedy])
    } else {
      log(ServiceKitLog.rightGranted, ["right": report.right])
    }
  }
}
