// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import GatewayModel
import Glibc
import HTTPServer
import Records
import ServiceKit
import Settings

/// The commands of the admin API to the gateway.
extension AdminAPI {
  /// Milliseconds since the epoch by the gateway's clock.
  var now: Int64 { WallClock.milliseconds() + world.clockAhead }

  /// `POST /tokens/TOKEN/VERB`: uninstall (with `?ts=` in ms, else now), expire, reregister, offline,
  /// online, restrict-power.
  func changeToken(_ request: HTTPRequest) -> HTTPResponse {
    let parts = request.path.split(separator: "/", omittingEmptySubsequences: false).map(
      String.init)
    guard parts.count == 4 else { return Self.problem("not found", status: 404) }
    let token = parts[2]
    do throws(DeviceToken.Problem) { try DeviceToken.validate(token.utf8.span) } catch {
      return Self.problem("the token \(error)")
    }
    if let other = request.query.first(where: { $0.name != "ts" }) {
      return Self.problem("\(other.name) is not known: the query may have ts")
    }
    var time = now
    if let text = request.query("ts") {
      guard let number = Int64(text), number >= 0 else {
        return Self.problem("ts must be milliseconds since 1970, not \(text)")
      }
      time = number
    }
    let state: DeclaredToken.State
    switch parts[3] {
    case "uninstall": state = .gone(.unregistered, timestamp: time)
    case "expire": state = .gone(.expiredToken, timestamp: time)
    case "reregister", "online": state = .active
    case "offline": state = .offline
    case "restrict-power": state = .powerRestricted
    default: return Self.problem("\(parts[3]) is not known", status: 404)
    }
    let delivered = world.set(token, state, now: now)
    wake()
    return Self.answer(["delivered": .integer(Int64(delivered))])
  }

  /// `POST /clock/advance` with `{"by":"20m"}` or `{"milliseconds":n}`; a negative time moves the clock back.
  func advanceClock(_ request: HTTPRequest) -> HTTPResponse {
    do {
      let fields = try FieldReader(
        try JSONDocument(request.body).root, "", known: ["by", "milliseconds"])
      let text = try fields.optionalText("by")
      let by = text.flatMap { FaultFields.offset(of: $0) }
      if let text, by == nil {
        throw fields.error(
          "by", "must be a time such as 20m or -20m, of ten years at most, not \(text)")
      }
      guard let step = try by ?? fields.integer("milliseconds") else {
        throw fields.error("by", "is missing, and so is milliseconds")
      }
      guard (-Self.longestStep...Self.longestStep).contains(step) else {
        throw fields.error(
          "milliseconds", "must be from -\(Self.longestStep) to \(Self.longestStep)")
      }
      world.moveClock(milliseconds: step)
      wake()
      return Self.answer(["clock_ahead": .integer(world.clockAhead), "now": .integer(now)])
    } catch {
      return Self.problem("\(error)")
    }
  }

  /// Ten years in milliseconds.
  private static let longestStep: Int64 = 315_576_000_000

  /// `POST /provider-tokens/expire`: expires every provider token that the gateway has seen. A token that arrives later
  /// for the first time is valid, whenever it was issued.
  func expireProviderTokens(_ request: HTTPRequest) -> HTTPResponse {
    guard request.body.isEmpty, request.query.isEmpty else {
      return Self.problem("the request has neither a body nor a query")
    }
    let count = world.expireSeenTokens()
    wake()
    return Self.answer(["expired": .integer(Int64(count))])
  }

  /// `POST /connections/ID/goaway`, optionally with `{"reason":"Shutdown","keep_open":true}`; the id
  /// may be `all`.
  func sendGoAway(_ request: HTTPRequest) -> HTTPResponse {
    let parts = request.path.split(separator: "/").map(String.init)
    guard parts.count == 3, parts[2] == "goaway" else {
      return Self.problem("not found", status: 404)
    }
    do {
      let body: JSONValue = request.body.isEmpty ? [:] : try JSONDocument(request.body).root
      let fields = try FieldReader(body, "", known: ["reason", "keep_open"])
      let name = try fields.optionalText("reason") ?? Reason.shutdown.name
      guard let reason = Reason(name) else {
        throw fields.error("reason", "is not one of APNs' reasons")
      }
      let keepsOpen = try fields.flag("keep_open") ?? false
      let open = openConnections().map(\.id)
      let wanted = parts[1] == "all" ? open : open.filter { "\($0)" == parts[1] }
      guard !wanted.isEmpty || parts[1] == "all" else {
        return Self.problem("there is no connection \(parts[1])", status: 404)
      }
      for loop in loops {
        for id in wanted { loop.commands.post(.goAway(id, reason, keepsOpen: keepsOpen)) }
      }
      return Self.answer(["accepted": .integer(Int64(wanted.count))])
    } catch {
      return Self.problem("\(error)")
    }
  }
}
