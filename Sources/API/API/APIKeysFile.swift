// SPDX-License-Identifier: Apache-2.0
import Access
import Contract
import EventLoop
import Records
import ServiceKit
import Telemetry

/// The file of API keys: a JSON array of objects with `name`, `sha256` (64 hex digits), `apps`, and optionally `read`,
/// `rate` (requests per second), `max_body` (bytes), `expires` (a date or a time in UTC), `paces` and `campaigns`
/// (true: may change them). `*` among apps means all.
enum APIKeysFile {
  struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
  }

  static func read(_ path: String) throws(Failure) -> APIKeyTable {
    let bytes: [UInt8]
    let problem: String?
    do throws(SystemError) {
      problem = try File.tampering(of: path)
      bytes = try File.read(path)
    } catch {
      throw Failure("\(error)")
    }
    if let problem { throw Failure(problem) }
    return try parse(bytes, path)
  }

  static func parse(_ bytes: [UInt8], _ path: String) throws(Failure) -> APIKeyTable {
    let root: JSONValue
    do throws(JSONError) { root = try JSONDocument(bytes).root } catch {
      throw Failure("\(path): \(error)")
    }
    guard let list = root.array else { throw Failure("\(path): is not a JSON array of keys") }
    var keys: [APIKey] = []
    var names: Set<ExactText> = []
    var holders: [[UInt8]: ExactText] = [:]
    for (index, entry) in list.enumerated() {
      let place = "\(path): key \(index + 1)"
      let key = try key(entry, place)
      guard names.insert(key.name).inserted else {
        throw Failure("\(place): the name \"\(key.name)\" is given twice")
      }
      if let other = holders.updateValue(key.name, forKey: key.digest) {
        throw Failure("\(place): \"\(other)\" and \"\(key.name)\" have the same sha256")
      }
      keys.append(key)
    }
    return APIKeyTable(keys)
  }

  private static let members: Set = [
    "name", "sha256", "apps", "read", "rate", "max_body", "expires", "paces", "campaigns",
  ]

  private static func key(_ entry: JSONValue, _ place: String) throws(Failure) -> APIKey {
    guard let object = entry.object else { throw Failure("\(place): is not an object") }
    if let twice = object.duplicateKey { throw Failure("\(place): \(twice) is given twice") }
    if let unknown = object.members.first(where: { !members.contains($0.key) }) {
      throw Failure("\(place): \(unknown.key) is not a member of a key")
    }
    guard let name = object["name"]?.string, RequestRules.isText(name.utf8.span, most: 64) else {
      throw Failure(
        "\(place): name: is required, with at most 64 bytes, without control characters or a blank at an end"
      )
    }
    guard let digest = object["sha256"]?.string.flatMap(digest) else {
      throw Failure(
        "\(place): sha256: is not the SHA-256 of a key as 64 hex digits;"
          + " martlet keys api makes a key and its entry")
    }
    let apps = try names(object["apps"], "\(place): apps")
    guard !apps.isEmpty || object["read"] != nil else {
      throw Failure("\(place): apps: is required; [\"*\"] means all")
    }
    return APIKey(
      name: name.exact, digest: digest, apps: apps,
      readable: object["read"] == nil ? apps : try names(object["read"], "\(place): read"),
      rate: try number(object["rate"], "\(place): rate", 1...10_000_000),
      maxBody: try number(
        object["max_body"], "\(place): max_body", APIKeyEntry.leastBody...1 << 30),
      expires: try time(object["expires"], "\(place): expires"),
      paces: try flag(object["paces"], "\(place): paces"),
      campaigns: try flag(object["campaigns"], "\(place): campaigns"))
  }

  private static func flag(_ value: JSONValue?, _ place: String) throws(Failure) -> Bool {
    guard let value else { return false }
    guard let flag = value.bool else { throw Failure("\(place): is not true or false") }
    return flag
  }

  private static func time(_ value: JSONValue?, _ place: String) throws(Failure) -> Int64? {
    guard let value else { return nil }
    guard let time = value.string.flatMap(Timestamp.milliseconds) else {
      throw Failure("\(place): is not a date or a time in UTC, such as \"2027-01-31T12:00:00Z\"")
    }
    return time
  }

  private static func digest(_ text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count == 64, digits.allSatisfy({ HexDigit.value($0) < 16 }) else { return nil }
    return (0..<32).map { HexDigit.value(digits[2 * $0]) << 4 | HexDigit.value(digits[2 * $0 + 1]) }
  }

  private static func names(_ value: JSONValue?, _ place: String) throws(Failure) -> Set<ExactText>
  {
    guard let value else { return [] }
    let names = value.array?.compactMap(\.string) ?? []
    guard !names.isEmpty, names.count == value.array?.count else {
      throw Failure("\(place): is not an array of app ids")
    }
    if let problem = AppClaims.patternProblem(in: names) { throw Failure("\(place): \(problem)") }
    return Set(names.map(\.exact))
  }

  private static func number(
    _ value: JSONValue?, _ place: String, _ range: ClosedRange<Int>
  ) throws(Failure) -> Int? {
    guard let value else { return nil }
    guard let number = value.int(Int64(range.lowerBound)...Int64(range.upperBound)).map({ Int($0) })
    else {
      throw Failure("\(place): is not a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
