// SPDX-License-Identifier: Apache-2.0
import Contract
import Records

@testable import API

/// What goes to APNs for a request: the header fields that a client sets, and the body.
struct Push: Equatable, CustomStringConvertible {
  var token: String
  var environment = "production"
  var topic: String
  var type = "alert"
  var priority = "10"
  var expiration: String?
  var collapseID: String?
  /// nil if it is made for each token.
  var id: String?
  var body: JSONValue

  var description: String {
    "\(environment) \(token) \(topic) \(type) \(priority) \(expiration ?? "-") \(collapseID ?? "-")"
      + " \(id ?? "-") \(String(decoding: body.text, as: UTF8.self))"
  }

  /// The pushes of a record of `push.requests`, as ingest reads it. Throws also for a token that ingest refuses.
  static func all(of record: [UInt8], types: PushTypes = .builtIn) throws -> [Push] {
    let reader = RequestReader(types: types)
    return try record.withUnsafeBytes { bytes in
      let request = try reader.read(bytes)
      func text(_ bytes: UnsafeRawBufferPointer) -> String {
        String(decoding: bytes, as: UTF8.self)
      }
      let body = try JSONParser().parse(request.payload)
      return try (0..<request.tokens.count).map { index in
        Push(
          token: try String(unsafeUninitializedCapacity: DeviceToken.maximumDigits) {
            try request.tokens.normalize(index, into: $0.baseAddress!)
          }, environment: request.environment.description,
          topic: text(request.app) + text(request.topicSuffix), type: text(request.typeName),
          priority: "\(request.priority)", expiration: request.expiration.map { "\($0)" },
          collapseID: request[.collapseID].isEmpty ? nil : text(request[.collapseID]),
          id: request.apnsID.map { "\($0)" }, body: body)
      }
    }
  }
}

func json(_ text: String) throws -> JSONValue { try JSONParser().parse(text) }
