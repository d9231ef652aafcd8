// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import TestSupport
import Testing

@testable import OperatorCommand

/// What `deploy/convert-tokens` makes of exports, as `martlet tokens import` reads it.
@Suite struct ConvertedTokensTests {
  @Test(arguments: [
    ("onesignal", "onesignal.csv", 5), ("parse", "parse.json", 3), ("rpush", "pg_dump.sql", 3),
    ("rpush", "mysqldump.sql", 3), ("pinpoint", "pinpoint.json", 4), ("sns", "sns.json", 3),
    ("fcm", "fcm.json", 5),
  ])
  func `nothing is lost of the lines of an export`(kind: String, file: String, count: Int) throws {
    let result = try BuiltProgram.run(
      Repository.path("deploy/convert-tokens"),
      [kind, Repository.path("Tests/Fixtures/Exports/\(file)")],
      in: TemporaryFolder())
    let lines = result.output.split(separator: "\n").filter { $0.hasPrefix("{") }
    #expect(lines.count == count, "\(result.output)")
    #expect(TokenFileFormat(firstLine: (lines.first ?? "").utf8) == .ndjson)
    var reader = TokenFile(.ndjson)
    for line in lines {
      guard case .object(let bytes)? = reader.read(Array(line.utf8))?.item else {
        Issue.record("\(line) is no object")
        continue
      }
      let token = try TokenObjects().line(bytes)
      #expect(try Self.members(of: token) == Self.members(of: JSONDocument(String(line)).root))
      _ = try TokenRecords(token, TokenDefaults(app: "com.example.app"))
    }
  }

  /// Names and values, whatever their order.
  private static func members(of value: JSONValue) throws -> Set<String> {
    let object = try #require(value.object)
    return Set(object.members.map { "\($0.key)=\(String(decoding: $0.value.text, as: UTF8.self))" })
  }

  private static func members(of token: ImportedToken) throws -> Set<String> {
    var object = JSONObject()
    object.append("token", .string(token.token))
    if let app = token.app { object.append("app", .string(app)) }
    if let name = token.environment?.description { object.append("environment", .string(name)) }
    if let time = token.registeredAt { object.append("registered_at", .integer(time)) }
    if let time = token.removedAt { object.append("removed_at", .integer(time)) }
    if let invalidation = token.invalidation {
      object.append("invalid_since", .integer(invalidation.since))
      object.append("reason", .string(invalidation.reason))
    }
    object.append(token.details)
    return try members(of: .object(object))
  }
}
