// SPDX-License-Identifier: Apache-2.0
import Bytes
import EventLoop
import Glibc
import Kafka
import Synchronization

/// One thread that owns queues: woken through an eventfd, takes batches without waiting, holds
/// records back by not taking them.
final class Loop: @unchecked Sendable {
  enum Command: Sendable {
    case own([KafkaQueue])
    case letGo
    case stop
  }

  let wakeup = Wakeup()
  let commands: Mailbox<Command>
  private let options: MemberOptions
  private let idle = Atomic<Bool>(true)
  private let counted = Atomic<Int>(0)
  private let shared = Mutex<[Int32: Int64]>([:])
  // What follows belongs to the loop's thread until it has ended.
  private var taken: [UInt64] = []
  private var heldKilobytes = 0
  private var begun: UInt64 = 0
  private var ended: UInt64 = 0
  private var cpuAtBegin = 0
  private var cpuAtEnd = 0
  private var holdUntil: UInt64 = 0

  init(_ options: MemberOptions) {
    self.options = options
    commands = Mailbox(wakeup: wakeup)
  }

  /// How many records were taken so far.
  var count: Int { counted.load(ordering: .relaxed) }

  func positions() -> [Int32: Int64] { shared.withLock { $0 } }

  func forgetPositions() { shared.withLock { $0 = [:] } }

  func waitUntilIdle() { while !idle.load(ordering: .acquiring) { usleep(200) } }

  func start(_ index: Int) throws -> pthread_t {
    var thread = pthread_t()
    let context = Unmanaged.passRetained(self).toOpaque()
    let code = pthread_create(
      &thread, nil,
      {
        Unmanaged<Loop>.fromOpaque($0!).takeRetainedValue().run()
        return nil
      }, context)
    guard code == 0 else { throw SystemError(code: code, attempt: "cannot start a loop") }
    return thread
  }

  private func run() {
    var queues: [KafkaQueue] = []
    var batch = KafkaBatch(capacity: 256)
    guard let poller = try? Poller() else { return }
    try? poller.add(wakeup.fd, token: 0, .readable)
    var events: [ReadyEvent] = []
    var wantsMore = false
    while true {
      poller.wait(timeoutMilliseconds: wantsMore ? 0 : 100, into: &events)
      wakeup.clear()
      for command in commands.drain() {
        switch command {
        case .own(let opened):
          idle.store(false, ordering: .releasing)
          queues = opened
          if holdUntil == 0 { holdUntil = MonotonicClock.milliseconds() + options.hold }
        case .letGo:
          for queue in queues { queue.close() }
          queues = []
          idle.store(true, ordering: .releasing)
        case .stop: return
        }
      }
      wantsMore = false
      guard !isHolding else { continue }
      for queue in queues where take(from: queue, &batch) { wantsMore = true }
    }
  }

  /// Whether records are held back now; a loop in its duty cycle looks again within 100 ms.
  private var isHolding: Bool {
    let now = MonotonicClock.milliseconds()
    if options.duty > 0 && now % 1_000 < options.duty { return true }
    return now < holdUntil
  }

  /// Takes one batch; true when more may wait.
  private func take(from queue: KafkaQueue, _ batch: inout KafkaBatch) -> Bool {
    let got = queue.take(into: &batch, upTo: 256)
    guard got > 0 else { return false }
    if begun == 0 {
      heldKilobytes = residentKilobytes("VmRSS:")
      begun = MonotonicClock.nanoseconds()
      cpuAtBegin = cpuMicroseconds()
    }
    shared.withLock { positions in
      for index in 0..<batch.count where batch[index].errorCode == 0 {
        let record = batch[index]
        taken.append(UInt64(record.partition) << 48 | UInt64(record.offset))
        positions[record.partition] = record.offset + 1
      }
    }
    batch.release()
    counted.store(taken.count, ordering: .relaxed)
    ended = MonotonicClock.nanoseconds()
    cpuAtEnd = cpuMicroseconds()
    return true
  }

  func add(to report: inout MemberReport) {
    report.taken += taken
    report.heldKilobytes = max(report.heldKilobytes, heldKilobytes)
    report.drainMicroseconds = max(report.drainMicroseconds, Int((ended - begun) / 1_000))
    report.cpuMicroseconds = max(report.cpuMicroseconds, cpuAtEnd - cpuAtBegin)
  }
}

/// User and system time of the whole process.
private func cpuMicroseconds() -> Int {
  var usage = rusage()
  getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
  return Int(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1_000_000
    + Int(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
}
