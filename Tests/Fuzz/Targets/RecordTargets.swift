// SPDX-License-Identifier: Apache-2.0
import APNS
import Gateway
import JSON
import Pipeline
import Records

extension FuzzTarget {
  /// JSON as values: what is read and written reads as the same. The simulator's quick look at bodies takes every
  /// object that the parser takes.
  static func json() -> FuzzTarget {
    let parser = JSONParser()
    return FuzzTarget("json") { bytes in
      let isObject = JSONScan.isObject(bytes.octets.span)
      do throws(JSONError) {
        let value = try parser.parse(bytes)
        if value.object == nil && isObject { return "no object, and the quick look takes it" }
        if value.object != nil && !isObject && depth(value) < 250 {
          return "an object that the quick look refuses"
        }
        do throws(JSONError) {
          return try parser.parse(value.text) == value ? nil : "it does not survive writing"
        } catch {
          return "what was written is refused: \(error)"
        }
      } catch {
        return (0...bytes.count).contains(error.offset)
          ? nil : "an error outside the text, at \(error.offset)"
      }
    }
  }

  /// How deep arrays and objects lie in each other.
  private static func depth(_ value: JSONValue) -> Int {
    switch value {
    case .array(let values): 1 + (values.map(depth).max() ?? 0)
    case .object(let object): 1 + (object.members.map { depth($0.value) }.max() ?? 0)
    default: 0
    }
  }

  /// A parser, and the value that it reads again from what it wrote.
  private static func roundTrip<Record: Equatable>(
    _ bytes: UnsafeRawBufferPointer, _ parser: JSONParser,
    _ read: (UnsafeRawBufferPointer, JSONParser) throws(RecordError) -> Record,
    _ write: (Record) -> [UInt8]
  ) -> String? {
    let record: Record
    do throws(RecordError) { record = try read(bytes, parser) } catch {
      return error.problem.isEmpty ? "an error without words" : nil
    }
    let text = write(record)
    do throws(RecordError) {
      let again = try text.lend { bytes throws(RecordError) in try read(bytes, parser) }
      return again == record ? nil : "\(Record.self) does not survive writing"
    } catch {
      return "a \(Record.self) that was written is refused: \(error)"
    }
  }

  /// `push.provider-tokens` and `push.token-requests`.
  static func providerToken() -> FuzzTarget {
    let parser = JSONParser()
    return FuzzTarget("provider-token") { bytes in
      roundTrip(bytes, parser, ProviderTokenRecord.init(_:parser:)) { $0.value }
        ?? roundTrip(bytes, parser, TokenRequest.init(_:parser:)) { $0.value }
    }
  }

  /// `push.feedback`, `push.devices` and `push.invalid-tokens`.
  static func device() -> FuzzTarget {
    let parser = JSONParser()
    return FuzzTarget("device") { bytes in
      roundTrip(bytes, parser, FeedbackRecord.init(_:parser:)) { $0.value }
        ?? roundTrip(bytes, parser, DeviceRecord.init(_:parser:)) { $0.value }
        ?? roundTrip(bytes, parser, InvalidTokenRecord.init(_:parser:)) { $0.value }
    }
  }

  /// `push.receipts`: anyone may read them, and the auditors do.
  static func receipt() -> FuzzTarget {
    let parser = JSONParser()
    return FuzzTarget("receipt") { bytes in
      do throws(RecordError) {
        let receipt = try Receipt(bytes, parser: parser)
        return receipt.status.map { $0 > 999 } == true ? "a status of more than 3 digits" : nil
      } catch {
        return nil
      }
    }
  }
}
