// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import Testing

/// `user` and `users` in requests, and on `push.schedule`.
@Suite struct UserRequestFormTests {
  private let reader = RequestReader()

  private func read<R>(_ more: String, _ body: (PushRequest) -> R) throws -> R {
    let text = #"{"app":"a.b","payload":{"aps":{"badge":1}}\#(more)}"#
    return try Array(text.utf8).withUnsafeBytes { body(try reader.read($0)) }
  }

  private func error(_ more: String) -> String? {
    do { _ = try read(more) { _ in } } catch { return "\(error)" }
    return nil
  }

  private func users(_ request: PushRequest) -> [String] {
    request.users.map { String(decoding: $0, as: UTF8.self) }
  }

  @Test func `a request names one user or several, without or with their tokens`() throws {
    try read(#","id":"r","user":"\u00e4nn""#) {
      #expect(users($0) == ["änn"] && $0.isForSchedule && $0.isToUsers && !$0.isResolved)
      #expect($0.tokens.count == 0 && $0.sendAt == nil)
    }
    try read(#","id":"r","users":["ann","bob"],"token":null,"send_at":1795000000"#) {
      #expect(users($0) == ["ann", "bob"] && $0.isToUsers && $0.sendAt == 1_795_000_000_000)
    }
    try read(#","id":"r","tokens":["abcd"],"user":"ann""#) {
      #expect(users($0) == ["ann"] && $0.isResolved && !$0.isToUsers && $0.tokens.count == 1)
    }
    try read(#","id":"r","tokens":[],"users":["ann"]"#) {
      #expect($0.isResolved && $0.tokens.count == 0)
    }
    // Those of the last request are not this one's.
    try read(#","token":"abcd""#) {
      #expect($0.users.isEmpty && !$0.isForSchedule && !$0.isToUsers && !$0.isResolved)
    }
    try read(#","id":"r","token":"abcd","send_at":1795000000"#) {
      #expect($0.users.isEmpty && $0.isForSchedule && !$0.isToUsers)
    }
  }

  @Test(arguments: [
    (#","user":"ann""#, "id: is required with send_at, user and users"),
    (#","id":"r","users":[]"#, "users: has no entries"),
    (#","id":"r","users":["ann",1]"#, "users: is not an array of strings"),
    (#","id":"r","users":["ann",null]"#, "users: is not an array of strings"),
    (#","id":"r","users":"ann""#, "users: is not an array of strings"),
    (#","id":"r","user":["ann"]"#, "user: is not a string"),
    (#","id":"r","user":"""#, "user: is empty"),
    (#","id":"r","users":["ann",""]"#, "users: is empty"),
    (#","id":"r","user":" ann""#, "user: has"),
    (#","id":"r","user":"a\u0009b""#, "user: has"),
    (#","id":"r\u0000","user":"ann""#, "id: has"),
    (#","id":"r","user":"ann","users":["ann"]"#, "users: cannot be combined with user"),
    (#","id":"r","user":"ann","user":"bob""#, "user: is given twice"),
    (#","id":"r","user":"ann","token":"abcd""#, "user: cannot be combined with token or channel"),
    (#","id":"r","tokens":[]"#, "tokens: has no entries"),
    (
      #","id":"r","user":"ann","apns_id":"0c8e2c5c-5c43-5d5e-8a1e-6c1b0f0b7f6a""#,
      "apns_id: is only allowed with exactly one token"
    ),
  ])
  func `what is wrong names the field`(_ more: String, _ words: String) {
    let text = error(more) ?? ""
    #expect(text.hasPrefix(words), "\(text)")
  }

  @Test func `devices that are named beside their user do not wait: by then they may be another's`()
    throws
  {
    func error(_ more: String) throws -> String? {
      try read(#","id":"r","send_at":1795000000"# + more) { request in
        do { try request.checkMayWait() } catch { return "\(error)" }
        return nil
      }
    }
    let words = "cannot be combined with token or channel; leave those out, or the user"
    #expect(try error(#","user":"ann","tokens":["abcd"]"#) == "user: \(words)")
    #expect(try error(#","users":["ann"],"tokens":[]"#) == "users: \(words)")
    #expect(try error(#","user":"ann""#) == nil)
    #expect(try error(#","tokens":["abcd"]"#) == nil)
  }

  @Test func `an empty list beside a user is refused, but for that of the scheduler`() throws {
    func error(_ more: String) throws -> String? {
      try read(#","id":"r""# + more) { request in
        do { try request.checkNamesDevice() } catch { return "\(error)" }
        return nil
      }
    }
    #expect(try error(#","user":"ann","tokens":[]"#) == "tokens: has no entries")
    #expect(try error(#","users":["ann"],"tokens":[]"#) == "tokens: has no entries")
    for fine in [
      #","user":"ann""#, #","user":"ann","tokens":null"#, #","user":"ann","tokens":["abcd"]"#,
      #","tokens":["abcd"]"#, #","token":"abcd""#,
    ] {
      #expect(try error(fine) == nil, "\(fine)")
    }
  }

  private static let state =
    #"{"aps":{"timestamp":1795000000,"event":"update","content-state":{}}}"#

  private func readActivity<R>(_ more: String, _ body: (PushRequest) -> R) throws -> R {
    let text = #"{"app":"a.b","id":"r","payload":\#(Self.state)\#(more)}"#
    return try Array(text.utf8).withUnsafeBytes { body(try reader.read($0)) }
  }

  @Test func `an activity is that of one user, and its event that of the payload`() throws {
    let common = #","type":"liveactivity","user":"ann","activity":"order-1""#
    for event in ["", #","event":"update""#] {
      try readActivity(common + event) {
        #expect(
          Recipients($0)
            == Recipients(
              type: "liveactivity", users: ["ann"],
              activity: .init(name: "order-1", event: .update)))
        #expect($0.isToUsers)
      }
    }
    try readActivity(common + #","tokens":["abcd"]"#) { #expect($0.isResolved && !$0.isToUsers) }
    try readActivity(common + #","channel":"AAAA""#) {
      #expect($0.isResolved && $0.isBroadcast && !$0.isToUsers)
    }
    // One that came late: it has a receipt of its own, and no other.
    try readActivity(common + #","token":"abcd""#) { #expect(!$0.isResolved && !$0.isToUsers) }
    for (more, words) in [
      (common + #","event":"end""#, "event: is only allowed with activity, and has to be payload"),
      (#","type":"liveactivity","user":"ann""#, "activity: is required"),
      (#","type":"liveactivity","users":["ann"],"activity":"x""#, "activity: is only allowed with"),
      (#","type":"liveactivity","token":"abcd","activity":"x""#, "activity: is only allowed with"),
      (#","type":"liveactivity","token":"abcd","event":"update""#, "event: is only allowed with"),
    ] {
      var text = ""
      do { try readActivity(more) { _ in } } catch { text = "\(error)" }
      #expect(text.hasPrefix(words), "\(more): \(text)")
    }
    #expect(
      error(#","id":"r","user":"ann","activity":"x""#)?.hasPrefix("activity: is only") == true)
  }

  @Test func `the state of an activity is read as it is written`() throws {
    for channel in ["", "AAAA"] {
      let state = ActivityState(
        sentAt: 1_795_000_000_000, accepted: 1_795_000_000_001, event: .end, channel: channel,
        traceParent: "")
      let value = state.value(Array(#"{"a":1}"#.utf8))
      #expect(try value.withUnsafeBytes { try ScheduleRecord($0) } == .activity(state))
    }
    let key = ScheduleKey(app: "a.b", environment: .sandbox, user: "ann", activity: "x:y")
    #expect(ScheduleKey(key.exact) == key)
    for text in ["A1\t1\t1\tend\tno channel\t\n", "A1\t1\t1\tstop\t\t\n", "A1\tx\t1\tend\t\t\n"] {
      #expect(throws: RecordError.self) {
        try Array(text.utf8).withUnsafeBytes { _ = try ScheduleRecord($0) }
      }
    }
  }

  @Test func `users and bytes have bounds`() {
    func many(_ count: Int) -> String {
      #","id":"r","users":["# + (0..<count).map { #""u\#($0)""# }.joined(separator: ",") + "]"
    }
    #expect(error(many(100)) == nil)
    #expect(error(many(101)) == "users: has more than 100 entries")
    #expect(error(#","id":"r","user":"\#(String(repeating: "x", count: 256))""#) == nil)
    #expect(error(#","id":"r","user":"\#(String(repeating: "x", count: 257))""#) != nil)
    let wide = String(repeating: " ", count: RequestRules.maximumPeopleBytes)
    #expect(error(#","id":"r","user":"ann"\#(wide)"#)?.hasPrefix("request: has") == true)
    #expect(error(#","id":"r","tokens":["abcd"],"user":"ann"\#(wide)"#) == nil)
  }

  @Test func `the schedule's record has the type and the users`() throws {
    try read(#","id":"r","users":["ann","b c"]"#) {
      #expect(Recipients($0) == Recipients(type: "alert", users: ["ann", "b c"]))
    }
    var entry = ScheduledRequest(
      due: 1_795_000_000_000, accepted: 1_795_000_000_000, requeuedAt: nil)
    entry.recipients = Recipients(type: "alert", users: ["ann", "b c", "ü"])
    var buffer = ByteBuffer()
    Array(#"{"a":1}"#.utf8).withUnsafeBytes {
      entry.append(
        to: &buffer, traceParent: UnsafeRawBufferPointer(start: nil, count: 0), request: $0)
    }
    #expect(try ScheduleRecord(buffer.bytes) == .request(entry))
    let line = String(decoding: buffer.bytes, as: UTF8.self)
    #expect(line.hasPrefix("S1\t1795000000000\t1795000000000\t\t\talert\t\t\tann\tb c\tü\n"))
    let tooMany =
      "S1\t1795000000000\t1795000000000\t\t\talert\t\t\t"
      + (0..<101).map { "u\($0)" }.joined(separator: "\t") + "\n{}"
    #expect(throws: RecordError.self) {
      try Array(tooMany.utf8).withUnsafeBytes { _ = try ScheduleRecord($0) }
    }
  }
}
