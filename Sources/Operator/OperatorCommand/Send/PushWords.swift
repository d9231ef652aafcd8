// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Records
import Settings

/// The push that the settings of `martlet send` describe.
struct PushWords: DeclaredSettings, Sendable {
  @Declared(.text("app", placeholder: "BUNDLE-ID", "The app's bundle id.")) private(set)
    var app: String
  @Declared(.text("token", placeholder: "HEX", "The device token.")) private var token: String?
  @Declared(.text("user", "In place of --token: a user, to whose registered devices it goes."))
  private(set) var user: String?
  @Declared(CommandSettings.oneEnvironment) private var environment: String
  @Declared(.text("alert", "The text of the alert.")) private var alert: String?
  @Declared(.text("title", "The title of the alert.")) private var title: String?
  @Declared(.integer("badge", "The number at the app's icon; 0 removes it.")) private var badge:
    Int?
  @Declared(.text("sound", "The sound: default, or the name of a file of the app."))
  private var sound: String?
  @Declared(
    .text(
      "type", placeholder: "TYPE",
      "The push type, alert if it is not given. background without anything to show wakes the app.")
  )
  private var type: String?
  @Declared(
    .text(
      "payload", placeholder: "FILE",
      "A file with the whole payload, in place of --alert, --title, --badge and --sound; - is standard input."
    ))
  private var payload: String?
  @Declared(
    .text("lane", placeholder: "NAME", "The lane, the first of --lanes if it is not given."))
  private var lane: String?

  let id = "send:" + String(UInt64.random(in: .min ... .max), radix: 16)
  /// The record's key.
  var target: String { token ?? user ?? "" }

  /// The request to produce; the payload from a file is kept byte for byte.
  func request(_ values: SettingValues) throws(SettingErrors) -> [UInt8] {
    var request = JSONObject()
    let fields = [
      ("id", id), ("app", app), ("environment", environment), ("token", token), ("user", user),
      ("type", type), ("lane", lane),
    ]
    for (name, value) in fields {
      if let value { request.append(name, .string(value)) }
    }
    // Without its last brace.
    var text = Array(JSONValue.object(request).text.dropLast())
    text += Array(",\"payload\":".utf8)
    text += try body(values)
    return text + [UInt8(ascii: "}")]
  }

  private func body(_ values: SettingValues) throws(SettingErrors) -> [UInt8] {
    var aps = JSONObject()
    if let title {
      var parts = JSONObject([.init(key: "title", value: .string(title))])
      if let alert { parts.append("body", .string(alert)) }
      aps.append("alert", .object(parts))
    } else if let alert {
      aps.append("alert", .string(alert))
    }
    if let badge { aps.append("badge", .integer(Int64(badge))) }
    if let sound { aps.append("sound", .string(sound)) }
    guard let payload else {
      if aps.members.isEmpty, type == "background" { aps.append("content-available", 1) }
      guard !aps.members.isEmpty else {
        throw SettingErrors(
          "alert", "or --title, --badge, --sound or --payload is needed: what is sent")
      }
      let payload: JSONValue = ["aps": .object(aps)]
      return payload.text
    }
    guard aps.members.isEmpty else {
      throw values.error(
        "payload", "is the whole payload: give it without --alert, --title, --badge and --sound")
    }
    let text = try values.orError("payload") {
      try File.read(payload == "-" ? "/dev/stdin" : payload, limit: 1 << 16)
    }
    guard (try? JSONParser().parse(text))?.object != nil else {
      throw values.error("payload", "\(payload) is not a JSON object")
    }
    return text
  }
}
