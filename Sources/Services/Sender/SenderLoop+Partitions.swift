// SPDX-License-Identifier: Apache-2.0
import Delivery
import EventLoop
import Kafka

/// Partitions come and go: what the loop was given, how far each is done, and giving them back.
extension SenderLoop {
  func begin(_ grant: PartitionGrant) {
    partitions.append(Partition(grant))
  }

  /// Stops feeding at once. What waits unsent is dropped: its next owner sends it.
  func beginRelease(_ deadline: UInt64) {
    for partition in partitions { partition.queue.close() }
    handBackWaiting()
    releaseDeadline = deadline
  }

  /// Whether the loop feeds: it has its partitions and nobody has asked for them back.
  var isFeeding: Bool { releaseDeadline == nil }

  /// Gives the partitions back when nothing of theirs is open any more, or when time is up.
  func releaseIfDone() {
    guard let deadline = releaseDeadline else { return }
    let isDrained = partitions.allSatisfy { $0.open == 0 }
    guard isDrained || now >= deadline else { return }
    let progress = partitions.compactMap(\.finalProgress)
    partitions.removeAll()
    epochOfPartitions &+= 1
    if !isStopping {
      releaseDeadline = nil
      control.post(.released(progress))
    } else if !hasEnded {
      hasEnded = true
      control.post(.progress(progress))
      closeConnections()
    }
  }

  /// Whether a stopping loop has nothing left to do.
  var isEmptyHanded: Bool { hasEnded }

  /// A record has ended in an acknowledged outcome. What belongs to an earlier assignment has no ledger
  /// to land in: it was reported, and is never committed.
  func complete(_ origin: Origin) {
    guard origin.epoch == epochOfPartitions else { return }
    _ = partitions[Int(origin.partition)].ledger?.completed(origin.offset)
  }

  /// Tells the control thread what may be committed.
  func reportProgress() {
    guard now >= nextProgress else { return }
    nextProgress = now + UInt64(settings.commitIntervalMilliseconds) / 2
    var moved: [PartitionProgress] = []
    for index in partitions.indices {
      guard let progress = partitions[index].progress,
        progress.committable != partitions[index].told
      else { continue }
      partitions[index].told = progress.committable
      moved.append(progress)
    }
    if !moved.isEmpty { control.post(.progress(moved)) }
  }
}

extension Partition {
  /// What may be committed; nil while nothing was read.
  var progress: PartitionProgress? {
    guard let ledger else { return nil }
    return PartitionProgress(partition: name, epoch: epoch, committable: ledger.committable)
  }

  /// The same with what is completed above it, for when the partition is given back.
  var finalProgress: PartitionProgress? {
    var progress = progress
    progress?.completedAbove =
      ledger?.completedRuns(limit: CompletionMemory.runsAtMost) ?? []
    return progress
  }
}
