// SPDX-License-Identifier: Apache-2.0

internal import CSimdjson
public import Contract
internal import EventLoop
internal import Glibc
internal import Telemetry

/// Reads the records of `push.requests`: one pass of the JSON parser per record, then the rules of each field. Reuses
/// its buffers; belongs to one thread.
public final class RequestReader {
  /// The most bytes of a text shown in an error; the text may be as long as the record.
  static let shownBytes = 64

  private let handle: OpaquePointer
  let raw: UnsafeMutablePointer<martlet_request>
  private let types: PushTypes
  private let lanes: Lanes
  /// Whether payloads with mistakes that devices ignore are refused.
  private let refusesWarnings: Bool
  /// The most members of `headers` or `data` that are read; more members of `data` would be too long.
  static let maximumMembers = 128
  private static let startOrUpdate = Recipients.Activity.Event.startOrUpdate.rawValue
  /// The bits of the fields carried beside the payload.
  private static let carried: UInt32 = ~0 << UInt32(RequestField.headers.rawValue)
  /// The bits of the fields that may make a request wait in the schedule.
  private static let scheduled: UInt32 = 31 << UInt32(RequestField.sendAt.rawValue)
  /// The names of the lanes by index, for the reader's lifetime.
  private let laneNames: [UnsafeRawBufferPointer]
  /// The suffixes of custom types by index, for the reader's lifetime.
  private let suffixes: [UnsafeRawBufferPointer]
  /// The last app that was a valid bundle id.
  private var checkedApp = ByteBuffer()
  /// Set for records from the topic that only the scheduler writes: they may name their campaign, and a campaign's
  /// request without a lane goes to the least important one.
  public var takesCampaigns = false

  /// - Parameters:
  ///   - types: the push types that requests may have.
  ///   - lanes: the lanes.
  ///   - refusesWarnings: refuses payloads with `PayloadWarnings` instead of recording them in the request.
  public init(
    types: PushTypes = .builtIn, lanes: Lanes = .standard, refusesWarnings: Bool = false
  ) {
    self.types = types
    self.lanes = lanes
    self.refusesWarnings = refusesWarnings
    laneNames = lanes.rules.map { Self.kept($0.name) }
    suffixes = types.custom.map { Self.kept($0.suffix) }
    let carried = CarriedField.texts.compactMap { $0.request?.name }
    handle = martlet_json_create(carried.joined(separator: ","))
    raw = .allocate(capacity: 1)
    raw.initialize(to: martlet_request())
  }

  private static func kept(_ text: String) -> UnsafeRawBufferPointer {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count, alignment: 1)
    copy.copyBytes(from: text.utf8)
    return UnsafeRawBufferPointer(copy)
  }

  deinit {
    for text in suffixes + laneNames { text.deallocate() }
    raw.deallocate()
    martlet_json_destroy(handle)
  }

  /// The request in a record's value. Its bytes belong to the reader and are valid until the next read.
  ///
  /// Throws the first fault, in field order. Tokens are not checked here: an invalid token does not make the request
  /// invalid.
  public func read(_ value: UnsafeRawBufferPointer) throws(RequestError) -> PushRequest {
    var request = PushRequest()
    try read(value, into: &request)
    return request
  }

  /// The same without copying the result, for hot paths. `request` is undefined after an error.
  public func read(
    _ value: UnsafeRawBufferPointer, into request: inout PushRequest
  ) throws(RequestError) {
    var error = martlet_json_error()
    let bytes = value.baseAddress?.assumingMemoryBound(to: UInt8.self)
    let code = martlet_json_read_request(
      handle, bytes, value.count, UInt32(RequestRules.maximumTokens),
      UInt32(Self.maximumMembers), raw, &error)
    guard code == 0 else { throw RequestError(error, in: value) }
    try check(value.count, &request)
  }

  /// The id of the request that was last refused, for its receipt, as in the JSON; empty if it has none, or is not JSON
  /// up to there.
  public var refusedID: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: raw.pointee.raw_id.bytes, count: raw.pointee.raw_id.count)
  }

  /// The same without its escapes; empty for none.
  public var refusedIDText: String {
    let raw = refusedID
    let text = String(decoding: raw, as: UTF8.self)
    guard raw.contains(UInt8(ascii: "\\")) else { return text }
    return (try? JSONParser().parse("[\"\(text)\"]"))?.array?.first?.string ?? text
  }

  /// The app of that request, if it could be read and is a valid bundle id; otherwise empty.
  public var refusedApp: UnsafeRawBufferPointer {
    guard has(.app), (try? RequestRules.checkName(text(.app).span, .app)) != nil else {
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
    return UnsafeRawBufferPointer(text(.app))
  }

  /// The name of that request's campaign and its environment, if the scheduler wrote it.
  public var refusedCampaign: (name: UnsafeRawBufferPointer, environment: Environment)? {
    guard takesCampaigns, has(.campaign),
      CampaignKey.isName(String(decoding: text(.campaign), as: UTF8.self))
    else { return nil }
    let environment = has(.environment) ? Environment(text(.environment).span) : nil
    return (UnsafeRawBufferPointer(text(.campaign)), environment ?? RequestDefaults.environment)
  }

  /// The facts about the last request's payload.
  var facts: PayloadFacts { PayloadFacts(raw.pointee.facts) }

  func has(_ field: RequestField) -> Bool { raw.has(field) }

  /// The unescaped text of a given field.
  func text(_ field: RequestField) -> UnsafeBufferPointer<UInt8> { raw.text(field) }

  /// - Parameter bytes: the length of the record.
  private func check(_ bytes: Int, _ request: inout PushRequest) throws(RequestError) {
    request = PushRequest()
    guard has(.app) else { throw RequestError(.app, .missing) }
    guard has(.payload) else { throw RequestError(.payload, .missing) }
    let isBroadcast = has(.channel)
    if isBroadcast {
      request.channel = UnsafeRawBufferPointer(text(.channel))
    } else {
      guard has(.token) || has(.tokens) || raw.hasUsers else {
        throw RequestError(.token, .missing)
      }
      // A user may have no devices.
      guard raw.pointee.token_count > 0 || raw.hasUsers else {
        throw RequestError(.tokens, .noTokens)
      }
    }
    let app = text(.app)
    try checkApp(app)
    request.app = UnsafeRawBufferPointer(app)
    request.environment = try choice(.environment, RequestDefaults.environment) { Environment($0) }
    request.type = try choice(.type, RequestDefaults.type(isBroadcast: isBroadcast)) {
      types.find($0)
    }
    if case .custom(let index) = request.type {
      request.typeName = UnsafeRawBufferPointer(text(.type))
      request.topicSuffix =
        suffixes.indices.contains(Int(index))
        ? suffixes[Int(index)] : UnsafeRawBufferPointer(start: nil, count: 0)
    } else {
      request.typeName = UnsafeRawBufferPointer(request.type.name)
      request.topicSuffix = UnsafeRawBufferPointer(request.type.topicSuffix)
    }
    if isBroadcast {
      try RequestRules.checkChannel(
        text(.channel).span, type: request.type, hasCollapseID: has(.collapseID))
    }
    request.lane = try choice(.lane, takesCampaigns ? lanes.last : RequestDefaults.lane) {
      lanes.find($0)
    }
    request.laneName = laneNames[Int(request.lane.place)]
    if has(.topic) {
      try RequestRules.checkTopic(
        text(.topic).span, app: app.span, type: request.type, types: types)
      request.topic = UnsafeRawBufferPointer(text(.topic))
    }
    try checkNumbers(&request)
    try checkIdentifiers(&request)
    if raw.pointee.present & Self.scheduled != 0 { try checkScheduled(&request, bytes) }
    request.payload = UnsafeRawBufferPointer(
      start: raw.pointee.payload.bytes, count: raw.pointee.payload.count)
    try RequestRules.checkPayload(
      request.payload.count, type: request.type, isBroadcast: isBroadcast)
    let facts = self.facts
    try PayloadRules.check(
      facts, type: request.type, isBroadcast: isBroadcast, isPass: RequestRules.isPass(app.span))
    try noteActivity(facts, &request)
    request.isSilent = facts.isSilent
    request.warnings = PayloadWarnings(facts, type: request.type)
    if refusesWarnings, !request.warnings.isEmpty, let warning = request.warnings.all.first {
      throw RequestError(.payload, .ineffective(warning))
    }
    request.tokenField = has(.tokens) ? .tokens : .token
    request.tokens = RequestTokens(raw.pointee.tokens, Int(raw.pointee.token_count))
  }

  /// Checks the app, unless it equals the last one checked, as in most requests.
  private func checkApp(_ app: UnsafeBufferPointer<UInt8>) throws(RequestError) {
    let last = checkedApp.bytes
    if let new = app.baseAddress, let old = last.baseAddress, app.count == last.count,
      app.count > 0, memcmp(new, old, app.count) == 0
    {
      return
    }
    try RequestRules.checkName(app.span, .app)
    checkedApp.removeAll()
    checkedApp.append(app.span)
  }

  /// Sets the push's role in the states of an activity.
  private func noteActivity(
    _ facts: PayloadFacts, _ request: inout PushRequest
  ) throws(RequestError) {
    switch request.type {
    case .liveactivity, .nowplaying: break
    default: return
    }
    switch facts[.event] {
    case .start:
      request.activity = .start
      if has(.supersede) { throw RequestError(.supersede, .startSupersedesNothing) }
    case .end: request.activity = .end
    default: request.activity = .update
    }
    guard has(.event), !text(.event).span.spells(request.activity.name) else { return }
    guard request.activity == .start, text(.event).span.spells(Self.startOrUpdate) else {
      throw RequestError(.event, .otherEvent)
    }
    request.isStartOrUpdate = true
  }

  @inline(__always)
  private func choice<Value>(
    _ field: RequestField, _ otherwise: Value, _ find: (Span<UInt8>) -> Value?
  ) throws(RequestError) -> Value {
    guard has(field) else { return otherwise }
    let name = text(field)
    guard let value = find(name.span) else {
      let shown = UnsafeBufferPointer(rebasing: name.prefix(Self.shownBytes))
      let values =
        switch field {
        case .type: types.names
        case .lane: lanes.rules.map(\.name)
        default: field.values
        }
      throw RequestError(field, .unknownValue(String(decoding: shown, as: UTF8.self), values))
    }
    return value
  }

  private func checkNumbers(_ request: inout PushRequest) throws(RequestError) {
    request.priority = RequestDefaults.priority(of: request.type)
    if has(.priority) {
      try RequestRules.checkPriority(
        raw.pointee.priority, type: request.type, isBroadcast: request.isBroadcast)
      request.priority = UInt8(truncatingIfNeeded: raw.pointee.priority)
    }
    if has(.expiresIn) {
      guard !has(.expiration) else { throw RequestError(.expiresIn, .bothExpirations) }
      try RequestRules.checkExpiresIn(raw.pointee.expires_in)
      request.expiresIn = raw.pointee.expires_in
    } else if has(.expiration) {
      try RequestRules.checkExpiration(raw.pointee.expiration)
      request.expiration = raw.pointee.expiration
    } else {
      request.expiration = RequestDefaults.expiration(isBroadcast: request.isBroadcast)
    }
  }

  private func checkScheduled(_ request: inout PushRequest, _ bytes: Int) throws(RequestError) {
    request.isForSchedule = true
    try checkActivity(request.type)
    if raw.hasUsers { try checkUsers(bytes) }
    guard has(.id) else { throw RequestError(.id, .missingForSchedule) }
    try RequestRules.checkText(text(.id).span, .id, most: RequestRules.maximumID)
    if has(.sendAt) { try checkSendAt(&request) }
  }

  private func checkActivity(_ type: PushType) throws(RequestError) {
    guard has(.activity) else {
      if has(.event) { throw RequestError(.event, .otherEvent) }
      if type == .liveactivity, raw.hasUsers { throw RequestError(.activity, .activityMissing) }
      return
    }
    guard type == .liveactivity, has(.user) else {
      throw RequestError(.activity, .activityOfNobody)
    }
    try RequestRules.checkText(text(.activity).span, .activity, most: DeviceDetails.longest)
  }

  private func checkUsers(_ bytes: Int) throws(RequestError) {
    let field: RequestField = has(.user) ? .user : .users
    // Their tokens are added later: the record must still fit a topic's limit.
    guard bytes <= RequestRules.maximumPeopleBytes || has(.tokens) else {
      throw RequestError(nil, .tooLong(bytes: bytes, limit: RequestRules.maximumPeopleBytes))
    }
    guard !has(.user) || !has(.users) else { throw RequestError(.users, .bothUserAndUsers) }
    // The scheduler has looked up the activity's channel, or the single late token.
    guard has(.activity) || (!has(.token) && !has(.channel)) else {
      throw RequestError(field, .userAndTarget)
    }
    let users = raw.users
    guard !users.isEmpty else { throw RequestError(field, .noTokens) }
    guard users.count <= RequestRules.maximumUsers else {
      throw RequestError(field, .tooMany(limit: RequestRules.maximumUsers))
    }
    for user in users { try RequestRules.checkText(user.span, field, most: DeviceDetails.longest) }
  }

  private func checkSendAt(_ request: inout PushRequest) throws(RequestError) {
    let text = text(.sendAt)
    var time = raw.pointee.send_at
    if text.baseAddress == nil {
      try RequestRules.checkSendAt(seconds: time)
      time *= 1_000
    } else {
      guard let moment = Timestamp.moment(String(decoding: text, as: UTF8.self)),
        moment >= RequestRules.earliestTime * 1_000
      else { throw RequestError(.sendAt, .notAMoment) }
      time = moment
    }
    try RequestRules.checkScheduled(time, expiration: request.expiration)
    request.sendAt = time
  }

  private func checkIdentifiers(_ request: inout PushRequest) throws(RequestError) {
    if has(.id) {
      try RequestRules.checkID(text(.id).span)
      request.id = UnsafeRawBufferPointer(text(.id))
      request.escapedID = UnsafeRawBufferPointer(
        start: raw.pointee.raw_id.bytes, count: raw.pointee.raw_id.count)
    }
    if raw.pointee.present & Self.carried != 0 { try checkCarried(&request) }
    if has(.apnsID) {
      let name = text(.apnsID)
      guard name.count == NotificationID.textLength, let id = NotificationID(name.span) else {
        throw RequestError(.apnsID, .notUUID)
      }
      guard request.isBroadcast || raw.pointee.token_count == 1 else {
        throw RequestError(.apnsID, .onlyWithOneToken)
      }
      request.apnsID = id
    }
  }
}
