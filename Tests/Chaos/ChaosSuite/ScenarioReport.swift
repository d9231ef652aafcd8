// SPDX-License-Identifier: Apache-2.0
import Records

/// The result of one scenario.
struct ScenarioReport {
  let scenario: String
  let seed: UInt64
  var faults = 0
  var requests = 0
  var notifications = 0
  /// The number of acceptances by the gateway, including repeated ones.
  var accepted = 0
  var lost = 0
  /// Pushes that the gateway accepted, or that got a final receipt, more than once.
  var duplicates = 0
  var bound = 0
  var deduplicated = 0
  var deadLetters = 0
  var checkpoints = 0
  /// Records above committed offsets that offset maps called completed, counted each time a map was read.
  var mapped = 0
  /// The longest time from the end of a fault until everything produced before was accounted for.
  var recoverySeconds = 0.0
  var peakMebibytes: [String: Int] = [:]
  /// The violations; empty if it passed.
  var problems: [String] = []

  static let heading =
    "scenario              seed faults requests    pushes lost duplicates  (bound) recovery"
    + "  peak RSS, MiB"

  var row: String {
    func right(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(0, width - text.count)) + text
    }
    let name = scenario + String(repeating: " ", count: max(1, 22 - scenario.count))
    let peaks = peakMebibytes.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    let seconds = "\(Int(recoverySeconds)).\(Int(recoverySeconds * 10) % 10)s"
    return name + right("\(seed)", 4) + right("\(faults)", 7) + right("\(requests)", 9)
      + right("\(notifications)", 10) + right("\(lost)", 5) + right("\(duplicates)", 11)
      + right("(\(bound))", 9) + right(seconds, 9) + "  " + peaks.joined(separator: ", ")
      + (problems.isEmpty ? "" : "  FAILED")
  }

  var json: String {
    var peaks = JSONObject()
    for (name, size) in peakMebibytes.sorted(by: { $0.key < $1.key }) {
      peaks.append(name, .integer(Int64(size)))
    }
    let value: JSONValue = [
      "scenario": .string(scenario), "seed": .integer(Int64(seed)),
      "faults": .integer(Int64(faults)), "requests": .integer(Int64(requests)),
      "notifications": .integer(Int64(notifications)), "accepted": .integer(Int64(accepted)),
      "lost": .integer(Int64(lost)), "duplicates": .integer(Int64(duplicates)),
      "bound": .integer(Int64(bound)), "deduplicated": .integer(Int64(deduplicated)),
      "dead_letters": .integer(Int64(deadLetters)), "checkpoints": .integer(Int64(checkpoints)),
      "mapped": .integer(Int64(mapped)),
      "recovery_seconds": .double(recoverySeconds), "peak_mib": .object(peaks),
      "problems": .array(problems.map { .string($0) }),
    ]
    return String(decoding: value.text, as: UTF8.self)
  }
}
