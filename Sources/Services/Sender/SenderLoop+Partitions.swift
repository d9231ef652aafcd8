// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import EventLoop
import Kafka
import Pipeline
import ServiceKit

/// Partitions come and go: what the loop was given, how far each is done, and giving them back.
extension SenderLoop {
  func begin(_ grant: PartitionGrant) {
    let index = partitions.count
    grant.queue.signal(queueSignals, as: UInt32(index))
    readyPartitions.insert(index)
    partitions.append(
      Partition(grant, bounds: settings.partitionBounds, window: settings.dedupWindow))
    if partitions[index].isRetry { retryPartitions.append(index) }
  }

  /// Stops feeding at once. What waits unsent is dropped: its next owner sends it.
  func beginRelease(_ deadline: UInt64) {
    for partition in partitions { partition.queue.close() }
    releaseDeadline = deadline
    handBackWaiting()
  }

  /// Whether the loop feeds: it has its partitions and nobody has asked for them back.
  var isFeeding: Bool { releaseDeadline == nil }

  /// Gives the partitions back when nothing of theirs is open any more, or when time is up.
  func releaseIfDone() {
    guard let deadline = releaseDeadline else { return }
    guard partitions.allSatisfy(\.isDrained) || now >= deadline else { return }
    var progress: [PartitionProgress<TopicPartition>] = []
    var windows: [ReleasedWindow] = []
    let unfinished = isStopping ? [:] : idsInFlight()
    for index in partitions.indices {
      guard let last = partitions[index].progress else { continue }
      progress.append(last)
      if !isStopping, let window = partitions[index].keptWindow(without: unfinished[index] ?? []) {
        windows.append(
          ReleasedWindow(partition: last.partition, window: window, next: last.committable))
      }
    }
    partitions.removeAll()
    readyPartitions.removeAll()
    retryPartitions.removeAll()
    epochOfPartitions &+= 1
    if !isStopping {
      releaseDeadline = nil
      control.post(.released(progress, windows))
    } else if !hasEnded {
      hasEnded = true
      control.post(.progress(progress))
      closeConnections()
    }
  }

  /// The ids of this assignment's pushes that are still to be answered, by partition.
  private func idsInFlight() -> [Int: [NotificationID]] {
    var ids: [Int: [NotificationID]] = [:]
    pushes.visit { push in
      guard push.pointee.origin.epoch == epochOfPartitions else { return }
      ids[Int(push.pointee.origin.partition), default: []].append(push.pointee.envelope.takenID)
    }
    return ids
  }

  /// Whether a stopping loop has nothing left to do.
  var isEmptyHanded: Bool { hasEnded }

  /// A record has ended in an acknowledged outcome. What belongs to an earlier assignment has no ledger
  /// to land in: it was reported, and is never committed.
  func complete(_ origin: Origin) {
    guard origin.epoch == epochOfPartitions else { return }
    _ = partitions[Int(origin.partition)].ledger?.completed(origin.offset)
  }

  /// A window has been rebuilt; if its partition is still ours and waits for all of it, it begins to be read.
  func takeWindow(_ name: TopicPartition, epoch: UInt32, _ window: DedupWindow, isWhole: Bool) {
    guard let index = partitions.firstIndex(where: { $0.name == name && $0.epoch == epoch })
    else { return }
    partitions[index].inherit(window, isWhole: isWhole)
    if isWhole { counters.add(.dedupRebuilds) }
  }

  /// Tells the control thread what may be committed, and what is strange.
  func reportProgress() {
    guard now >= nextProgress else { return }
    nextProgress = now + UInt64(settings.commitIntervalMilliseconds) / 2
    var moved: [PartitionProgress<TopicPartition>] = []
    var jumps: [LogJump] = []
    var head = PartitionGauges()
    let reserve = fairness.reserve(of: settings.partitionBounds.openAtMost)
    for index in partitions.indices {
      if let progress = partitions[index].news() { moved.append(progress) }
      if let jump = partitions[index].takeJump() {
        jumps.append(
          LogJump(
            partition: partitions[index].name, epoch: partitions[index].epoch, offsets: jump))
      }
      if let fault = partitions[index].takeFault() { report(fault, of: partitions[index]) }
      goOnWithoutWindow(index)
      head.add(&partitions[index], reserve: reserve, now: now)
    }
    if !moved.isEmpty { control.post(.progress(moved)) }
    if !jumps.isEmpty { control.post(.jumped(jumps)) }
    counters.set(.openRecords, head.open)
    counters.set(.completedRuns, head.runs)
    counters.set(.oldestOpenMilliseconds, Int(clamping: head.age))
    counters.set(.widestSpan, Int(clamping: head.span))
    counters.set(.partitionsHeld, head.held)
  }

  private func report(_ fault: Partition.LogFault, of partition: Partition) {
    switch fault {
    case .restarted(let offset):
      control.post(.logRestarted(partition.name, epoch: partition.epoch, offset: offset))
    case .mustResume: control.post(.mustResume(partition.name))
    case .wentBack(let offset):
      control.post(.wentBack(partition.name, epoch: partition.epoch, from: offset))
    }
  }

  private func goOnWithoutWindow(_ index: Int) {
    guard let deadline = partitions[index].windowDeadline, now >= deadline else { return }
    partitions[index].goOnWithoutWindow()
    counters.add(.dedupRebuildsLate)
    context.log.warning(
      "not all apns-ids of the records before were read in time: until they are, repeats are sent again",
      ["partition": "\(partitions[index].name)"])
  }
}

/// The figures of all partitions of a loop.
private struct PartitionGauges {
  var open = 0
  var runs = 0
  var age: UInt64 = 0
  var span: Int64 = 0
  var held = 0

  mutating func add(_ partition: inout Partition, reserve: Int, now: UInt64) {
    open += partition.open
    runs += partition.runCount
    age = max(age, partition.headAge(now: now))
    span = max(span, partition.span)
    if partition.windowDeadline == nil, partition.allowance(reserve: reserve) == 0 { held += 1 }
  }
}
