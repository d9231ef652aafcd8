// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Records

@testable import OperatorCommand

extension FuzzTarget {
  /// A file of device tokens in each form: lines count up, whatever becomes a record is one that `martlet-feedback`
  /// takes.
  static func tokenFiles() -> [FuzzTarget] {
    TokenFileFormat.allCases.map { format in
      let (parser, objects) = (JSONParser(), TokenObjects())
      return FuzzTarget("tokens-\(format)") { bytes in
        var file = TokenFile(format)
        var found: [ImportedLine] = []
        for line in bytes.split(separator: 10, omittingEmptySubsequences: false) {
          if let read = file.read(Array(line)) { found.append(read) }
        }
        var last = 1
        for entry in found {
          guard entry.line >= last else { return "a line before the one before it" }
          last = entry.line
          if let problem = violation(entry.item, objects, parser) { return problem }
        }
        return nil
      }
    }
  }

  private static func violation(
    _ item: ImportedItem, _ objects: TokenObjects, _ parser: JSONParser
  ) -> String? {
    do throws(TokenRecords.Problem) {
      let token: ImportedToken
      switch item {
      case .token(let read): token = read
      case .object(let bytes): token = try objects.line(bytes)
      case .problem(_, let text): return text.isEmpty ? "without words" : nil
      }
      let records = try TokenRecords(token, TokenDefaults(app: "com.example.app"))
      return check(records, parser)
    } catch {
      return error.text.isEmpty ? "refused without words" : nil
    }
  }

  /// The records as their readers read them.
  private static func check(_ records: TokenRecords, _ parser: JSONParser) -> String? {
    if let device = records.device {
      let read = device.value.withUnsafeBytes { try? DeviceRecord($0, parser: parser) }
      guard let read, read.device == device.device, read.event == device.event else {
        return "a registration that is read as another one"
      }
    }
    if let feedback = records.feedback {
      let read = feedback.value.withUnsafeBytes { try? FeedbackRecord($0, parser: parser) }
      guard read == feedback else { return "an answer that is read as another one" }
    }
    return records.device == nil && records.feedback == nil ? "a token without a record" : nil
  }
}
