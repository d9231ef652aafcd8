// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Kafka

/// Compares one librdkafka queue per partition with one per loop, on the embedded broker:
///
///     swift run -c release queue-experiment            the whole table (about 3 minutes)
///     swift run -c release queue-experiment --quick    8 partitions, fewer records
///     … queue-experiment 32 --loop                     one row
///
/// Each row is measured twice over: *drain* (one process, a backlog held back and then taken) and
/// *handover* (two processes, a rebalance when the second comes and when the first goes, records
/// held back a third of the time), which also checks that no record is lost.
@main struct QueueExperiment {
  static func main() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if arguments.first == "member" {
      exit(Member.run(MemberOptions(Array(arguments.dropFirst()))))
    }
    let quick = arguments.contains("--quick")
    let only = arguments.filter { !$0.hasPrefix("--") }.compactMap { Int($0) }
    var complete = true
    print(Row.heading)
    for partitions in only.isEmpty ? (quick ? [8] : [8, 64]) : only {
      let named = QueueStyle.allCases.filter { arguments.contains("--\($0.rawValue)") }
      for style in named.isEmpty ? QueueStyle.allCases : named {
        do {
          let experiment = Experiment(partitions: partitions, style: style, quick: quick)
          let row = try experiment.run()
          print(row)
          fflush(nil)
          complete = complete && row.untaken == 0 && row.droppedByBroker == 0
        } catch {
          print("\(partitions) partitions, \(style.rawValue): \(error)")
          complete = false
        }
      }
    }
    print(complete ? "every record was taken" : "RECORDS WERE NOT TAKEN IN TIME")
    exit(complete ? 0 : 1)
  }
}

/// How records reach a loop.
enum QueueStyle: String, CaseIterable {
  /// One queue for each partition, each with librdkafka's limits as they come.
  case partition
  /// One queue for each partition; they share the prefetch that the two loop queues have.
  case divided
  /// One queue for all partitions of a loop.
  case loop
  /// As `divided`, and the control thread wakes the fetcher every 20 ms.
  case woken
}

/// One line of the table.
struct Row: CustomStringConvertible {
  var partitions = 0
  var style = QueueStyle.partition
  var heldMegabytes = 0.0
  var peakMegabytes = 0.0
  var recordsPerSecond = 0.0
  var microseconds = 0.0
  var letGo = 0
  var stall = 0
  /// Records that nobody took, within 40 s of the last one produced.
  var untaken = 0
  /// From the last record produced until the group had committed all, in ms.
  var catchUp = 0
  var duplicates = 0
  var droppedByBroker = 0

  static let heading = """
    partitions  queue per  RSS held MiB  RSS peak MiB  records/s  CPU us/record  let go ms  \
    handover ms  catch-up ms  untaken  duplicates
    """

  var description: String {
    func pad(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(0, width - text.utf8.count)) + text
    }
    func decimal(_ value: Double) -> String {
      let scaled = Int((value * 100).rounded())
      return "\(scaled / 100).\(scaled % 100 < 10 ? "0" : "")\(scaled % 100)"
    }
    return pad("\(partitions)", 10) + pad(style.rawValue, 11) + pad(decimal(heldMegabytes), 14)
      + pad(decimal(peakMegabytes), 14) + pad("\(Int(recordsPerSecond))", 11)
      + pad(decimal(microseconds), 15) + pad("\(letGo)", 11) + pad("\(stall)", 13)
      + pad("\(catchUp)", 13) + pad("\(untaken)", 9) + pad("\(duplicates)", 12)
  }
}
