// SPDX-License-Identifier: Apache-2.0
import Contract
import HTTPClient
import Records
import ServiceKit
import Settings

/// One request to channel management (Apple, "Sending channel management requests to APNs"), its response, and the
/// output.
struct ChannelSession {
  private let settings: ChannelSettings
  private let context: ServiceContext
  /// The limit of `--timeout` for everything: Kafka, the provider token, the gateway's response.
  private let timeLimit: TimeLimit
  private let output: (String) -> Void
  private let audit: (_ deed: String, _ subject: String, ServiceContext) -> Void

  init(
    _ settings: ChannelSettings, _ context: ServiceContext,
    output: @escaping (String) -> Void = { _ = StandardOutput.line($0) },
    audit: @escaping (String, String, ServiceContext) -> Void = Audit.note
  ) {
    self.settings = settings
    self.context = context
    self.output = output
    self.audit = audit
    timeLimit = TimeLimit(milliseconds: settings.timeoutMilliseconds)
  }

  private var place: String { "\(settings.app) in \(settings.environment)" }

  /// Creates a channel. With `storesLast`, APNs stores the last broadcast for devices that are offline.
  func create(storesLast: Bool) throws(ServiceFailure) {
    let body: JSONValue = [
      "message-storage-policy": .integer(storesLast ? 1 : 0), "push-type": "LiveActivity",
    ]
    let answer = try send(
      "POST", "channels", body: body.text,
      whenLost:
        "the channel may have been made all the same: look with martlet channels list before you"
        + " create one again")
    guard answer.status == 201, let channel = answer.header("apns-channel-id") else {
      throw refusal(answer)
    }
    audit("channels create", "\(channel) for \(place)", context)
    let policy = storesLast ? "last" : "none"
    show(
      "channel \(channel)\nfor \(place), storage policy \(policy). Put it in place of a token: "
        + "\"channel\":\"\(channel)\"",
      ["channel": .string(channel), "storage_policy": .string(policy)])
  }

  func read(_ channel: String) throws(ServiceFailure) {
    let answer = try send("GET", "channels", channel: channel)
    guard answer.status == 200, let body = try? JSONParser().parse(answer.body) else {
      throw refusal(answer)
    }
    let policy =
      switch body["message-storage-policy"]?.int(0...1) {
      case 0: "none"
      case 1: "last"
      default: "unknown"
      }
    let type = body["push-type"]?.string ?? "unknown"
    show(
      "channel \(channel)\nfor \(place), storage policy \(policy), push type \(type)",
      [
        "channel": .string(channel), "storage_policy": .string(policy), "push_type": .string(type),
      ])
  }

  func list() throws(ServiceFailure) {
    let answer = try send("GET", "all-channels")
    guard answer.status == 200,
      let channels = try? JSONParser().parse(answer.body)["channels"]?.array
    else { throw refusal(answer) }
    let ids = channels.compactMap(\.string)
    let count = ids.count == 1 ? "1 channel" : "\(ids.count) channels"
    show(
      (ids + ["\(count) for \(place)"]).joined(separator: "\n"),
      ["channels": .array(ids.map { .string($0) })])
  }

  func delete(_ channel: String) throws(ServiceFailure) {
    let answer = try send(
      "DELETE", "channels", channel: channel,
      whenLost:
        "the channel may have been deleted all the same: look with martlet channels list")
    guard answer.status == 204 || answer.status == 200 else { throw refusal(answer) }
    audit("channels delete", "\(channel) for \(place)", context)
    show("deleted channel \(channel) for \(place)", ["deleted": .string(channel)])
  }

  // MARK: The request

  private func send(
    _ method: String, _ resource: String, channel: String? = nil, body: [UInt8]? = nil,
    whenLost advice: String? = nil
  ) throws(ServiceFailure) -> HTTP2Client.Answer {
    let id = NotificationID(version4: .random(in: .min ... .max), .random(in: .min ... .max))
    var headers: [(String, String)] = [("apns-request-id", id.description)]
    if settings.identity.certificate == nil {
      let authorization = try CurrentProviderToken.authorization(
        app: settings.app, settings.environment, settings.cluster, settings.seal, timeLimit,
        context)
      headers.append(("authorization", authorization))
    }
    if let channel { headers.append(("apns-channel-id", channel)) }
    if body != nil { headers.append(("content-type", "application/json")) }
    let client = HTTP2Client(
      host: settings.gateway.host, port: settings.gateway.port, settings.identity,
      proxy: settings.proxy.map {
        .init(host: $0.endpoint.host, port: $0.endpoint.port, credentials: $0.credentials)
      },
      timeoutMilliseconds: max(1, timeLimit.left))
    let answer: HTTP2Client.Answer
    do throws(HTTP2Client.Failure) {
      answer = try client.send(
        method, "/1/apps/\(settings.app)/\(resource)", headers: headers, body: body)
    } catch {
      guard error.mayHaveArrived, let advice else { throw ServiceFailure("\(error)") }
      throw ServiceFailure("\(error); the answer was lost, and \(advice)")
    }
    let said = Self.read(answer, sent: id)
    guard !said.response.isForeign else { throw foreign(answer, said, advice) }
    return answer
  }

  // MARK: The answer

  private func show(_ text: String, _ members: KeyValuePairs<String, JSONValue>) {
    guard settings.isJSON else { return output(text) }
    var object = JSONObject([
      .init(key: "app", value: .string(settings.app)),
      .init(key: "environment", value: .string(settings.environment.description)),
    ])
    for (key, value) in members { object.append(key, value) }
    output(String(decoding: JSONValue.object(object).text, as: UTF8.self))
  }

  /// Classifies a response by the table for pushes. Channel management uses 200, 201 or 204 for success.
  private static func read(
    _ answer: HTTP2Client.Answer, sent: NotificationID? = nil
  ) -> GatewayAnswer {
    let isSuccess = (200..<300).contains(answer.status)
    let id = (answer.header("apns-request-id") ?? answer.header("apns-id")).flatMap {
      NotificationID($0)
    }
    return (isSuccess ? [] : answer.body).withUnsafeBytes {
      GatewayAnswer(
        status: isSuccess ? 200 : UInt16(clamping: answer.status),
        id: id == nil ? .none : sent == nil || id == sent ? .sent : .other, body: $0,
        parser: JSONParser())
    }
  }

  private func foreign(
    _ answer: HTTP2Client.Answer, _ said: GatewayAnswer, _ advice: String?
  ) -> ServiceFailure {
    let body = GatewayAnswer.printable(answer.body.prefix(GatewayAnswer.excerptLength))
    return ServiceFailure(
      "the answer \(answer.status) is not of APNs, whose answers carry apns-request-id and a reason: something"
        + " between here and \(settings.gateway) gave it (a proxy?), or the address is wrong"
        + (advice.map { "; \($0)" } ?? "") + (body.isEmpty ? "" : ". It begins with: \(body)"))
  }

  private func refusal(_ answer: HTTP2Client.Answer) -> ServiceFailure {
    let said = Self.read(answer)
    let advice = ChannelAdvice.text(said.response)
    let id = answer.header("apns-request-id") ?? ""
    if settings.isJSON {
      show(
        "",
        [
          "status": .integer(Int64(answer.status)), "reason": .string(said.reasonText),
          "advice": .string(advice), "apns_request_id": .string(id),
        ])
    }
    let reason = said.reasonText.isEmpty ? "no reason given" : said.reasonText
    return ServiceFailure(
      "refused with \(answer.status) \(reason) for \(place) (apns-request-id \(id)). \(advice)")
  }
}
