// SPDX-License-Identifier: Apache-2.0
public import Contract
public import Records
import Telemetry

/// Findings as JSON objects, for `martlet doctor` and other programs.
public enum FindingText {
  /// One line: `{"status":"error","subject":"topic","place":…,"message":…,"remedy":…}`.
  ///
  /// - Parameter programs: who found it, as the member `programs`; left out if empty.
  public static func json(_ finding: Finding, programs: [String] = []) -> String {
    var object = JSONObject([
      .init(key: "status", value: .string(finding.status.rawValue)),
      .init(key: "subject", value: .string(finding.subject.rawValue)),
      .init(key: "place", value: .string(finding.place)),
      .init(key: "message", value: .string(finding.message)),
      .init(key: "remedy", value: .string(finding.remedy)),
    ])
    if !programs.isEmpty { object.append("programs", .array(programs.map { .string($0) })) }
    return TerminalText.json(String(decoding: JSONValue.object(object).text, as: UTF8.self))
  }

  /// The finding of such a line; nil for any other line.
  public static func finding(_ line: String, _ parser: JSONParser) -> Finding? {
    guard let root = try? parser.parse(line), let status = root["status"]?.string,
      let subject = root["subject"]?.string, let place = root["place"]?.string,
      let message = root["message"]?.string, let remedy = root["remedy"]?.string,
      let status = Finding.Status(rawValue: status),
      let subject = Finding.Subject(rawValue: subject)
    else { return nil }
    return Finding(status, subject, place, message, remedy: remedy)
  }
}
