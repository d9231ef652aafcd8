// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import Kafka
import Records
import SenderDecisions
import ServiceKit

/// What a loop tells the control thread, the signer and the operator. Owner: one sender loop.
struct ControlReports {
  let log: Logger
  let control: Mailbox<ControlMessage>

  // MARK: Partitions

  /// What may be committed, and what is strange.
  func report(_ reports: [PartitionReport], of queues: borrowing PartitionQueues) {
    var moved: [PartitionProgress<TopicPartition>] = []
    var jumps: [LogJump] = []
    var late: [TopicPartition] = []
    for report in reports {
      let (name, epoch) = (queues.name(report.partition), queues.epoch(report.partition))
      if let done = report.done { moved.append(queues.progress(report.partition, done)) }
      if let jump = report.jump { jumps.append(self.jump(jump, report.partition, queues)) }
      if let offset = report.wentBackFrom {
        control.post(.wentBack(name, epoch: epoch, from: offset))
      }
      if report.isWithoutWindow { late.append(name) }
    }
    if let first = late.first {
      log(SenderLog.windowsLate, ["partitions": "\(late.count)", "first": "\(first)"])
    }
    if !moved.isEmpty { control.post(.progress(moved)) }
    if !jumps.isEmpty { control.post(.jumped(jumps)) }
  }

  /// The partitions are given back.
  func handOver(
    _ given: [HandedOverPartition], of queues: borrowing PartitionQueues, isStopping: Bool
  ) {
    var last: [PartitionProgress<TopicPartition>] = []
    var jumps: [LogJump] = []
    var windows: [DrainedWindow] = []
    for one in given {
      if let jump = one.jump { jumps.append(self.jump(jump, one.partition, queues)) }
      last.append(queues.progress(one.partition, one.done))
      guard let window = one.window else { continue }
      windows.append(
        DrainedWindow(
          partition: queues.name(one.partition), window: window, next: one.done.committable))
    }
    let underWay = given.reduce(0) { $0 + $1.underWay }
    if underWay > 0 { log(SenderLog.leftUnderWay, ["pushes": "\(underWay)"]) }
    // Asked about although they are given back: nobody else will know of it.
    if !jumps.isEmpty { control.post(.jumped(jumps)) }
    control.post(isStopping ? .progress(last) : .drained(last, windows))
  }

  private func jump(
    _ offsets: Range<Int64>, _ partition: Int, _ queues: borrowing PartitionQueues
  ) -> LogJump {
    LogJump(partition: queues.name(partition), epoch: queues.epoch(partition), offsets: offsets)
  }

  // MARK: Credentials

  /// A newer provider token of a pool's credential is needed.
  func requestToken(_ pool: GatewayPool, reason: String, at wall: Int64) {
    control.post(
      .tokenWanted(
        TokenRequest(
          credential: pool.credential, app: nil, environment: pool.environment, reason: reason,
          at: wall)))
  }

  /// There is none for a push's app.
  func requestToken(forAppOf push: UnsafeMutablePointer<Push>, at wall: Int64) {
    control.post(
      .tokenWanted(
        TokenRequest(
          credential: nil, app: push.pointee.appName,
          environment: push.pointee.envelope.environment, reason: "missing", at: wall)))
  }

  /// APNs refuses a pool's credential, or one app with it: somebody should know.
  func reportRefusal(_ pool: GatewayPool, app: String?, _ reason: String) {
    let (credential, environment) = (pool.credential, "\(pool.environment)")
    guard let app else {
      return log(
        SenderLog.credentialRefused,
        ["credential": credential, "environment": environment, "reason": reason])
    }
    log(
      SenderLog.appRefused,
      ["app": app, "credential": credential, "environment": environment, "reason": reason])
  }
}
