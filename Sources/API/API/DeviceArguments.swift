// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import Contract
import Identity
import JSON
import Records
import Store

/// Reads what requests about devices name: in the path, in the query, in a body.
enum DeviceArguments {
  typealias Failure = Admission.Failure

  private static func refuse(_ detail: String, _ field: String) -> Failure {
    Failure(.malformed("\(field): \(detail)", field: field))
  }

  /// A device token in lower case.
  static func token(_ text: String) throws(Failure) -> String {
    do throws(DeviceToken.Problem) {
      return try DeviceToken.normalized(text)
    } catch {
      throw refuse("\(error)", "token")
    }
  }

  /// A request id or an `apns-id`.
  static func id(_ text: String) throws(Failure) -> String {
    guard text.utf8.count <= 128 else { throw refuse("has more than 128 bytes", "id") }
    return text
  }

  /// A request or one notification whose outcomes are asked for.
  struct Notification {
    let id: ExactText
    /// nil: of all apps.
    let app: String?

    /// The most apps of a key that are asked about one after the other.
    private static let mostApps = 100

    /// The keys that the schedule may have it under, as far as the apps are known by name.
    ///
    /// - Parameter readable: the apps that may be read.
    func scheduled(readable: Set<ExactText>) -> [ScheduleKey] {
      let named = readable.filter { $0 != "*" }.sorted().prefix(Self.mostApps).map(\.text)
      return (app.map { [$0] } ?? named).flatMap { app in
        Environment.allCases.map { ScheduleKey(app: app, environment: $0, id: id) }
      }
    }
  }

  static func notification(_ id: String, app: String?) throws(Failure) -> Notification {
    Notification(id: try Self.id(id).exact, app: app == nil ? nil : try Self.app(app))
  }

  /// A user of registrations.
  struct User: Sendable {
    let name: ExactText
    /// nil: of all apps.
    let app: String?
  }

  static func user(_ name: String, app: String?) throws(Failure) -> User {
    guard name.utf8.count <= DeviceDetails.longest else {
      throw refuse("has more than \(DeviceDetails.longest) bytes", "user")
    }
    return User(name: name.exact, app: app == nil ? nil : try Self.app(app))
  }

  /// The scheduled request that a path and a query name.
  static func scheduled(
    _ id: String, app: String?, environment: String?
  ) throws(Failure) -> ScheduleKey {
    do throws(RequestError) {
      try RequestRules.checkText(id.utf8.span, .id, most: RequestRules.maximumID)
    } catch {
      throw Failure(.malformed("\(error)", field: "id"))
    }
    return ScheduleKey(
      app: try Self.app(app), environment: try Self.environment(environment) ?? .production,
      id: id.exact)
  }

  static func app(_ text: String?) throws(Failure) -> String {
    guard let text else { throw refuse("is required", "app") }
    do throws(RequestError) {
      try RequestRules.checkName(text.utf8.span, .app)
    } catch {
      throw Failure(.malformed("\(error)", field: "app"))
    }
    return text
  }

  /// nil if there is none.
  static func environment(_ text: String?) throws(Failure) -> Environment? {
    guard let text else { return nil }
    guard let environment = Environment(text) else {
      throw refuse("must be production or sandbox", "environment")
    }
    return environment
  }

  /// The device that a path and a query name.
  static func device(
    _ token: String, app: String?, environment: String?
  ) throws(Failure) -> DeviceKey {
    DeviceKey(
      token: try Self.token(token), app: try Self.app(app),
      environment: try Self.environment(environment) ?? .production)
  }

  /// A registration: the body of a PUT.
  ///
  /// - Parameters:
  ///   - now: milliseconds since the epoch, for a registration without a time.
  ///   - types: those that a token may be for.
  static func registration(
    _ token: String, _ body: UnsafeRawBufferPointer, now: Int64, _ types: PushTypes,
    _ parser: JSONParser
  ) throws(Failure) -> DeviceRecord {
    guard let object = (try? parser.parse(Array(body)))?.object, object.duplicateKey == nil else {
      throw Failure(.malformed("the body is not a JSON object"))
    }
    let known =
      ["app", "environment", "registered_at"] + DeviceDetails.none.members.map(\.name)
    if let unknown = object.members.first(where: { !known.contains($0.key) }) {
      throw refuse("is not a member of a registration", unknown.key)
    }
    func text(_ name: String) throws(Failure) -> String? {
      guard let value = object[name], !value.isNull else { return nil }
      guard let text = value.string else { throw refuse("is not a string", name) }
      return text
    }
    func detail(_ name: String) throws(Failure) -> String? {
      let text: String?
      do throws(DetailError) {
        text = try object.detail(name)
      } catch {
        throw refuse(error.problem, name)
      }
      guard let text else { return nil }
      guard (1...DeviceDetails.longest).contains(text.utf8.count) else {
        throw refuse("has not 1 to \(DeviceDetails.longest) bytes", name)
      }
      return text
    }
    let device = try device(token, app: text("app"), environment: text("environment"))
    let details = try DeviceDetails(named: detail)
    if let type = details.pushType, types.find(type.utf8.span) == nil {
      throw refuse("is not a push type", "type")
    }
    guard let given = object["registered_at"], !given.isNull else {
      return DeviceRecord(device: device, event: .registered(at: now), details: details)
    }
    guard let time = given.int(earliest...OutsideTime.last) else {
      throw refuse("is not a time in milliseconds since 1970", "registered_at")
    }
    // A device's clock may be ahead. What it registers later counts as later all the same.
    return DeviceRecord(device: device, event: .registered(at: min(time, now)), details: details)
  }

  /// A smaller number of milliseconds is a time since 2001 in seconds.
  private static let earliest: Int64 = 100_000_000_000

  /// A page of invalid tokens.
  ///
  /// - Parameter query: the value of a query's argument.
  static func page(_ query: (String) -> String?) throws(Failure) -> InvalidTokenPage {
    let app = try app(query("app"))
    let environment = try environment(query("environment"))
    var limit = 1_000
    if let text = query("limit") {
      guard let number = Int(text), (1...10_000).contains(number) else {
        throw refuse("must be a number from 1 to 10000", "limit")
      }
      limit = number
    }
    return InvalidTokenPage(
      app: app, environment: environment,
      after: try place(since: query("since"), cursor: query("cursor")), limit: limit)
  }

  private static func place(
    since: String?, cursor: String?
  ) throws(Failure) -> InvalidTokenPage.Cursor {
    let begin = try time(since: since)
    // It is behind the time that the first page began at.
    if let cursor {
      let parts = cursor.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 3, let time = Int64(parts[0]),
        parts[2].utf8.allSatisfy({ HexDigit.value($0) < 16 }), Environment(String(parts[1])) != nil
      else { throw refuse("is not one of an earlier answer", "cursor") }
      return .init(recordedAt: time, token: String(parts[2]), environment: String(parts[1]))
    }
    // No token is empty: what was recorded at this very time comes behind it.
    return .init(recordedAt: begin, token: "", environment: "")
  }

  private static func time(since: String?) throws(Failure) -> Int64 {
    guard let since else { return 0 }
    guard let time = Int64(since), time >= 0 else {
      throw refuse("is not a time in milliseconds since 1970", "since")
    }
    return time
  }
}

extension InvalidTokenPage.Cursor {
  /// The place of a listed token on the pages.
  init(_ token: ListedToken) {
    self.init(
      recordedAt: token.recordedAt, token: token.device.token,
      environment: token.device.environment.description)
  }

  /// As answers have it and requests repeat it.
  var cursor: String { "\(recordedAt).\(environment).\(token)" }
}
