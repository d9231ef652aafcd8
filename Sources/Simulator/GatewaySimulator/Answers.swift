// SPDX-License-Identifier: Apache-2.0
import Contract
import GatewayModel
import HTTP2

/// The gateway's responses in APNs' format, built once.
struct Answers: ~Copyable {
  private var headers = HeaderList()
  private var date = DateField()
  /// Which responses have a `date`.
  private var dated = GatewayRules.DatedAnswers.none
  private var contentType = GatewayRules.ContentType.none
  /// Milliseconds since the epoch.
  private var now: Int64 = 0
  /// The JSON bodies without a timestamp, by reason.
  private let bodies: [UnsafeRawBufferPointer]
  private let constantID: StaticString = "00000000-0000-4000-8000-000000000000"

  // The offsets of a response's own values in the request's scratch memory.
  static let idOffset = 0
  static let uniqueIDOffset = 36
  static let bodyOffset = 72

  init() {
    bodies = Reason.allCases.map { reason in
      let text = "{\"reason\":\"\(reason.name)\"}"
      let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count, alignment: 1)
      bytes.copyBytes(from: text.utf8)
      return UnsafeRawBufferPointer(bytes)
    }
  }

  deinit { for body in bodies { body.deallocate() } }

  /// Sets the time of the following responses and the fields that they have.
  mutating func note(
    _ dated: GatewayRules.DatedAnswers, _ contentType: GatewayRules.ContentType, now: Int64
  ) {
    self.dated = dated
    self.contentType = contentType
    self.now = max(0, now)
  }

  /// Responds with the constant 200 of the fast profile.
  mutating func acceptConstantly(
    _ request: UnsafeMutablePointer<ServerRequest>, _ pool: ServerRequestPool
  ) {
    headers.removeAll()
    headers.append(":status", "200")
    headers.append("apns-id", constantID)
    HTTP2ServerConnection.respond(request, headers, body: nothing, pool: pool)
  }

  /// Responds with 200 and the id that `prepare` left in the scratch memory.
  mutating func accept(
    _ request: UnsafeMutablePointer<ServerRequest>, isSandbox: Bool, isChannel: Bool,
    _ pool: ServerRequestPool
  ) {
    begin(request, "200", isChannel: isChannel, isDated: dated == .always)
    if isSandbox || isChannel {
      headers.append("apns-unique-id", id(request, Self.uniqueIDOffset), .never)
    }
    HTTP2ServerConnection.respond(request, headers, body: nothing, pool: pool)
  }

  /// Responds with the status and body of a reason; with `bodyCount` > 0 the body is in the scratch memory.
  mutating func refuse(
    _ request: UnsafeMutablePointer<ServerRequest>, _ reason: Reason, bodyCount: Int,
    isChannel: Bool, _ pool: ServerRequestPool
  ) {
    begin(request, Self.status(reason.rule.status), isChannel: isChannel, isDated: dated != .none)
    nameContent()
    let body =
      bodyCount > 0
      ? UnsafeRawBufferPointer(start: request.pointee.scratch + Self.bodyOffset, count: bodyCount)
      : bodies[Int(reason.rawValue)]
    HTTP2ServerConnection.respond(request, headers, body: body, pool: pool)
  }

  /// Like `refuse`, for a request whose body is incomplete.
  mutating func refuseEarly(
    _ request: UnsafeMutablePointer<ServerRequest>, _ reason: Reason, isChannel: Bool,
    on connection: GatewayConnection
  ) {
    begin(request, Self.status(reason.rule.status), isChannel: isChannel, isDated: dated != .none)
    nameContent()
    connection.http.faulty?.respondEarly(request, headers, body: bodies[Int(reason.rawValue)])
  }

  /// Sends a custom response. The request keeps its bytes until the stream has closed.
  mutating func custom(
    _ request: UnsafeMutablePointer<ServerRequest>, _ answer: CustomAnswer,
    _ pool: ServerRequestPool
  ) {
    headers.removeAll()
    headers.append(":status", request.pointee.keep("\(answer.status)".utf8), .never)
    for field in answer.headers.prefix(HeaderList.capacity - 1) {
      headers.append(
        name: request.pointee.keep(field.name.utf8), request.pointee.keep(field.value.utf8), .never)
    }
    let body = answer.body.isEmpty ? nothing : request.pointee.keep(answer.body)
    HTTP2ServerConnection.respond(request, headers, body: body, pool: pool)
  }

  private mutating func begin(
    _ request: UnsafeMutablePointer<ServerRequest>, _ status: StaticString, isChannel: Bool,
    isDated: Bool
  ) {
    headers.removeAll()
    headers.append(":status", status)
    if isChannel {
      headers.append("apns-request-id", id(request, Self.idOffset), .never)
    } else {
      headers.append("apns-id", id(request, Self.idOffset), .never)
    }
    if isDated { headers.append("date", date.value(now: now), .never) }
  }

  private mutating func nameContent() {
    if contentType == .json { headers.append("content-type", "application/json") }
  }

  /// The id in a request's scratch memory as text.
  static func identifier(in request: UnsafeMutablePointer<ServerRequest>) -> String {
    UnsafeRawBufferPointer(
      start: request.pointee.scratch + idOffset, count: NotificationID.textLength
    ).text
  }

  private func id(
    _ request: UnsafeMutablePointer<ServerRequest>, _ offset: Int
  ) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: request.pointee.scratch + offset, count: NotificationID.textLength)
  }

  private var nothing: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

  private static func status(_ code: UInt16) -> StaticString {
    switch code {
    case 403: "403"
    case 404: "404"
    case 405: "405"
    case 410: "410"
    case 413: "413"
    case 429: "429"
    case 500: "500"
    case 503: "503"
    default: "400"
    }
  }
}
