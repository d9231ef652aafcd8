// SPDX-License-Identifier: Apache-2.0
import APNS
import Contract
import DeviceTokens
import EventLoop
import Identity
import JSON
import Records
import ServiceKit
import Store

/// The requests to people that are due, until their devices are known: looked up in the database of `martlet-feedback`,
/// many at once. What cannot be looked up waits.
struct RecipientResolver {
  /// One request to people.
  struct Request {
    /// Its place in the scheduler's machine.
    let slot: Int
    let key: ScheduleKey
    fileprivate(set) var recipients: Recipients
    let scheduled: ScheduledRequest
    fileprivate(set) var json: [UInt8]
    /// It starts its activity only if that is not running: decided anew each time that it is looked up.
    fileprivate let startsOrUpdates: Bool
    /// Until then the start of an activity waits for a token that starts any, in monotonic milliseconds; nil before it was
    /// looked up.
    fileprivate var waitsUntil: UInt64?

    /// Of the state of the activity that it is about; nil without one.
    var activityKey: ScheduleKey? {
      recipients.activity.map {
        ScheduleKey(
          app: key.app, environment: key.environment, user: recipients.users.first ?? "",
          activity: $0.name)
      }
    }

    /// The questions that it makes.
    var questions: [PersonQuestion] {
      recipients.users.map {
        PersonQuestion(
          user: $0, app: key.app, environment: key.environment,
          types: recipients.registrationTypes, activity: recipients.registeredActivity,
          limit: recipients.devicesOfEach)
      }
    }
  }

  /// What is known of a request's people.
  struct Answer {
    let request: Request
    let devices: [Recipients.Device]
    /// The request as it is released.
    let json: [UInt8]
    /// The state of its activity from now on; nil without an activity.
    var state: ActivityState?
    /// Whether no later request about the activity was sent.
    var isNewest = true
    /// Whether anybody gets it.
    var reaches: Bool { !devices.isEmpty || isToChannel }
    var isToChannel = false
  }

  /// Questions that are asked at once.
  private static let questionsAtOnce = 1_000
  /// After a failure nothing is asked for so long, in milliseconds.
  private static let pause: UInt64 = 500
  private static let mostWritten = 10_000
  /// Starts whose users have no device wait for one as long as an update token waits for the state that it missed, at most
  /// so many, and are looked up again after so many milliseconds.
  private static let startPatience = UInt64(NewTokens.patience)
  private static let mostStarts = 1_000
  private static let startPause: UInt64 = 1_000

  private let location: String
  private let onePerModel: Set<ExactText>
  private let context: ServiceContext
  private let counters: Counters<SchedulerMetrics>
  private var reader: UsersReader?
  private var waiting: [Request] = []
  /// Starts of activities whose users have no device yet.
  private var starts: [Request] = []
  private var nextStarts: UInt64 = 0
  private var notBefore: UInt64 = 0
  private let parser = JSONParser()
  /// States that were written and may not be in the database yet.
  private var written: [ScheduleKey: ActivityState] = [:]
  private var tokens = NewTokens()
  private var nextTokens: UInt64 = 0
  private var nextState: UInt64 = 0

  /// - Parameters:
  ///   - location: of the database of device tokens.
  ///   - onePerModel: apps of whose devices with the same model and bundle only the newest counts.
  init(
    _ location: String, onePerModel: Set<ExactText>, _ context: ServiceContext,
    _ counters: Counters<SchedulerMetrics>
  ) {
    (self.location, self.onePerModel) = (location, onePerModel)
    (self.context, self.counters) = (context, counters)
  }

  /// A request that is due. Each user of it is meant once.
  mutating func add(
    _ slot: Int, _ key: ScheduleKey, _ recipients: Recipients, _ scheduled: ScheduledRequest,
    _ json: [UInt8]
  ) {
    var seen: Set<ExactText> = []
    var recipients = recipients
    recipients.users = recipients.users.filter { seen.insert($0).inserted }
    waiting.append(
      Request(
        slot: slot, key: key, recipients: recipients, scheduled: scheduled, json: json,
        startsOrUpdates: recipients.activity?.event == .startOrUpdate))
  }

  /// Gives up what waits.
  ///
  /// - Returns: its places.
  mutating func removeAll() -> [Int] {
    defer { (waiting, starts) = ([], []) }
    written = [:]
    tokens = NewTokens()
    return (waiting + starts).map(\.slot)
  }

  /// Looks up the devices of requests that wait. Empty when there are none, or when the database does not answer.
  ///
  /// - Parameters:
  ///   - now: monotonic milliseconds.
  ///   - state: tells the state of an activity.
  mutating func look(
    now: UInt64, state: (ScheduleKey) throws(StoreError) -> ActivityState?
  ) -> [Answer] {
    defer { counters.set(.peopleWaiting, waiting.count) }
    if now >= nextStarts {
      waiting += starts
      starts = []
      nextStarts = now + Self.startPause
    }
    guard !waiting.isEmpty, now >= notBefore else { return [] }
    do throws(StoreError) {
      let (requests, questions, left) = try nextQuestions(state)
      let found = try ask(questions)
      var answers: [Answer] = []
      var place = 0
      for request in requests {
        let devices = found[place..<place + request.recipients.users.count].flatMap {
          Recipients.chosen($0, onePerModel: onePerModel.contains(request.key.app.exact))
        }
        place += request.recipients.users.count
        let answer = try answer(request, devices, state)
        if !mayWait(answer, now: now) { answers.append(answer) }
      }
      waiting = left
      noteSuccess()
      return answers
    } catch {
      note(error)
      notBefore = now + Self.pause
      return []
    }
  }

  /// True if a request starts an activity of somebody who has no device that could, and waits for one.
  private mutating func mayWait(_ answer: Answer, now: UInt64) -> Bool {
    guard answer.request.recipients.activity?.event == .start, !answer.reaches,
      starts.count < Self.mostStarts
    else { return false }
    var request = answer.request
    let until = request.waitsUntil ?? now + Self.startPatience
    guard now < until else { return false }
    request.waitsUntil = until
    if request.startsOrUpdates { request.recipients.activity?.event = .startOrUpdate }
    starts.append(request)
    return true
  }

  /// The state of an activity, as far as it is known here.
  private func known(
    _ key: ScheduleKey, _ state: (ScheduleKey) throws(StoreError) -> ActivityState?
  ) throws(StoreError) -> ActivityState? {
    let known = try state(key)
    guard let own = written[key], own.accepted >= known?.accepted ?? 0 else { return known }
    return own
  }

  /// What becomes of a request. The state of its activity says which channel it is followed on, if any.
  private func answer(
    _ request: Request, _ devices: [Recipients.Device],
    _ state: (ScheduleKey) throws(StoreError) -> ActivityState?
  ) throws(StoreError) -> Answer {
    let toDevices = Recipients.request(request.json, to: devices)
    guard let activity = request.recipients.activity, let key = request.activityKey else {
      return Answer(request: request, devices: devices, json: toDevices)
    }
    let known = try known(key, state)
    let isStart = activity.event == .start
    let channel = isStart ? channel(in: request.json) : known?.channel ?? ""
    let isToChannel = !isStart && !channel.isEmpty
    return Answer(
      request: request, devices: isToChannel ? [] : devices,
      json: isToChannel ? Recipients.request(request.json, "channel", channel) : toDevices,
      state: ActivityState(
        sentAt: WallClock.milliseconds(), accepted: request.scheduled.accepted,
        event: activity.event, channel: channel, traceParent: request.scheduled.traceParent),
      isNewest: request.scheduled.accepted >= known?.accepted ?? 0, isToChannel: isToChannel)
  }

  /// The channel that the start of an activity names; empty for none.
  private func channel(in json: [UInt8]) -> String {
    let aps = (try? parser.parse(json))?["payload"]?["aps"]
    let channel = aps?["input-push-channel"]?.string ?? ""
    return (try? ChannelID.validate(Array(channel.utf8).span)) == nil ? "" : channel
  }

  /// The state of an activity was written.
  mutating func note(_ key: ScheduleKey, _ state: ActivityState) {
    if written.count >= Self.mostWritten { written = [:] }
    written[key] = state
  }

  /// Update tokens that were registered lately and got nothing as late ones, with the keys of their activities and when
  /// each was seen first; once a second, empty otherwise.
  mutating func newTokens(
    now: UInt64, wall: Int64
  ) -> [(token: ActivityToken, key: ScheduleKey, firstSeen: Int64)] {
    guard now >= nextTokens else { return [] }
    nextTokens = now + 1_000
    do throws(StoreError) {
      return tokens.look(
        try open().activityTokens(after: tokens.since(wall), limit: NewTokens.most), wall: wall
      ).map { token, firstSeen in
        let key = ScheduleKey(
          app: token.device.app, environment: token.device.environment, user: token.user,
          activity: token.activity)
        return (token, key, firstSeen)
      }
    } catch {
      // Requests to people say so. There may be none, and no such database.
      reader = nil
      return []
    }
  }

  /// A token got its activity's last state.
  mutating func served(_ token: ActivityToken) { tokens.served(token) }

  /// As many requests as are asked for at once, at least one, with their questions; and those that are left.
  private func nextQuestions(
    _ state: (ScheduleKey) throws(StoreError) -> ActivityState?
  ) throws(StoreError) -> ([Request], [PersonQuestion], left: [Request]) {
    var (questions, requests, left): ([PersonQuestion], [Request], [Request]) = ([], [], [])
    var activities: Set<ScheduleKey> = []
    for (place, request) in waiting.enumerated() {
      guard questions.count < Self.questionsAtOnce else {
        left += waiting[place...]
        break
      }
      var request = request
      if let key = request.activityKey {
        let isFirst = activities.insert(key).inserted
        if request.startsOrUpdates {
          // What becomes of the one before it says whether it starts the activity.
          guard isFirst else {
            left.append(request)
            continue
          }
          let isRunning = try known(key, state)?.isRunning ?? false
          request.recipients.activity?.event = isRunning ? .update : .start
          if isRunning { request.json = StartedActivity.update(of: request.json) }
        }
      }
      questions += request.questions
      requests.append(request)
    }
    return (requests, questions, left)
  }

  private mutating func ask(
    _ questions: [PersonQuestion]
  ) throws(StoreError) -> [[Recipients.Device]] {
    try open().devices(questions)
  }

  /// Says once a second whether the devices are being read from the topics, while which nothing is looked up in them. Where
  /// nobody keeps devices, none are missing.
  mutating func lookAtState(now: UInt64) {
    guard now >= nextState else { return }
    nextState = now + 1_000
    var reason: String?
    if let state = state(), case .filling = state, let obstacle = state.obstacle {
      reason = "requests to users and campaigns wait: \(obstacle)"
    }
    context.status.set("devices", obstacle: reason)
  }

  private mutating func state() -> TableState? {
    do throws(StoreError) {
      return try open().state()
    } catch {
      // Requests to people say so.
      reader = nil
      return nil
    }
  }

  private mutating func open() throws(StoreError) -> UsersReader {
    if let reader { return reader }
    let new = try UsersReader(location)
    reader = new
    return new
  }

  private mutating func note(_ error: StoreError) {
    reader = nil
    guard counters[.peopleFailing] == 0 else { return }
    counters.set(.peopleFailing, 1)
    context.log.error(
      "the devices of users cannot be looked up; their requests wait", ["error": "\(error)"])
  }

  private func noteSuccess() {
    guard counters[.peopleFailing] > 0 else { return }
    counters.set(.peopleFailing, 0)
    context.log.info("the devices of users can be looked up again")
  }
}
