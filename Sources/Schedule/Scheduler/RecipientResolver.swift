// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import ServiceKit
import Store

/// Resolves the users of due requests to their devices, looked up in the database of `martlet-feedback`, many at once.
/// Requests whose users cannot be looked up wait.
struct RecipientResolver {
  /// One request to users.
  struct Request {
    /// The request's slot in the scheduler's machine.
    let slot: Int
    let key: ScheduleKey
    fileprivate(set) var recipients: Recipients
    let scheduled: ScheduledRequest
    fileprivate(set) var json: [UInt8]
    /// The request starts its activity only if that is not running; decided anew at each lookup.
    fileprivate let startsOrUpdates: Bool
    /// How long the start of an activity waits for a push-to-start token, in monotonic milliseconds; nil before the
    /// first lookup.
    fileprivate var waitsUntil: UInt64?

    /// The key of the state of the request's activity; nil without one.
    var activityKey: ScheduleKey? {
      recipients.activity.map {
        ScheduleKey(
          app: key.app, environment: key.environment, user: recipients.users.first ?? "",
          activity: $0.name)
      }
    }

    /// The questions to look up for this request.
    var questions: [PersonQuestion] {
      recipients.users.map {
        PersonQuestion(
          user: $0, app: key.app, environment: key.environment,
          types: recipients.registrationTypes, activity: recipients.registeredActivity,
          limit: recipients.devicesOfEach)
      }
    }
  }

  /// The last state of an activity, with the identity of its request's JSON.
  struct Sent {
    let state: ActivityState
    private let request: Int64

    init(_ state: ActivityState, _ json: some Sequence<UInt8>) {
      (self.state, request) = (state, ScheduleRow.identity(of: json))
    }

    /// Whether this very request has started the activity: its state is written before it leaves, and then a process may
    /// crash, or have no room for it.
    func isStart(by other: Request) -> Bool {
      isStart(other.scheduled.accepted, ScheduleRow.identity(of: other.json))
    }

    fileprivate func isStart(_ accepted: Int64, _ request: Int64) -> Bool {
      state.event == .start && state.accepted == accepted && self.request == request
    }
  }

  /// The result of looking up a request's users.
  struct Answer {
    let request: Request
    let devices: [Recipients.Device]
    /// The request to release.
    let json: [UInt8]
    /// The new state of its activity; nil without an activity.
    var state: ActivityState?
    /// Whether no later request about the activity was sent.
    var isNewest = true
    /// Whether the request reaches any device or a channel.
    var reaches: Bool { !devices.isEmpty || isToChannel }
    var isToChannel = false
    var reach: Reach { Reach(isAny: reaches, devices: devices.count) }
  }

  /// Whether a released request reaches any device or a channel, and the number of devices.
  struct Reach {
    let isAny: Bool
    let devices: Int
  }

  /// The most questions asked at once.
  private static let questionsAtOnce = 1_000
  /// The pause after a failure, in milliseconds.
  private static let pause: UInt64 = 500
  private static let mostWritten = 10_000
  /// How long starts whose users have no device wait for one (as long as an update token waits for the state that it
  /// missed), how many may wait, and the delay until they are looked up again, in milliseconds.
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
  private var written: [ScheduleKey: Sent] = [:]
  private var tokens = NewTokens()
  private var nextTokens: UInt64 = 0
  private var nextState: UInt64 = 0

  /// - Parameters:
  ///   - location: the location of the device token database.
  ///   - onePerModel: apps for which only the newest device of the same model and bundle counts.
  init(
    _ location: String, onePerModel: Set<ExactText>, _ context: ServiceContext,
    _ counters: Counters<SchedulerMetrics>
  ) {
    (self.location, self.onePerModel) = (location, onePerModel)
    (self.context, self.counters) = (context, counters)
  }

  /// Adds a due request. A user named twice counts once.
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

  /// Abandons the waiting requests.
  ///
  /// - Returns: their slots.
  mutating func removeAll() -> [Int] {
    defer { (waiting, starts) = ([], []) }
    written = [:]
    tokens = NewTokens()
    return (waiting + starts).map(\.slot)
  }

  /// Looks up the devices of waiting requests. Empty when there are none, or when the database does not answer.
  ///
  /// - Parameters:
  ///   - now: monotonic milliseconds.
  ///   - areStatesKnown: whether the database has the last states of activities; until then requests about them wait.
  ///   - state: returns the state of an activity.
  mutating func look(
    now: UInt64, areStatesKnown: Bool, state: (ScheduleKey) throws(StoreError) -> Sent?
  ) -> [Answer] {
    defer { counters.set(.peopleWaiting, waiting.count) }
    if now >= nextStarts {
      waiting += starts
      starts = []
      nextStarts = now + Self.startPause
    }
    guard !waiting.isEmpty, now >= notBefore else { return [] }
    let aside = starts
    do throws(StoreError) {
      let (requests, questions, left) = try nextQuestions(areStatesKnown, state)
      guard !requests.isEmpty else { return [] }
      let found = try open().devices(questions)
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
      // All of them still wait, also those that were put aside before it.
      starts = aside
      note(error)
      pause(now)
      return []
    }
  }

  /// True if the request starts an activity, its users have no device for it yet, and it may still wait for one.
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
    _ key: ScheduleKey, _ state: (ScheduleKey) throws(StoreError) -> Sent?
  ) throws(StoreError) -> Sent? {
    let known = try state(key)
    guard let own = written[key], own.state.accepted >= known?.state.accepted ?? 0 else {
      return known
    }
    return own
  }

  /// The result for one request. The activity's state tells which channel it is followed on, if any.
  private func answer(
    _ request: Request, _ devices: [Recipients.Device],
    _ state: (ScheduleKey) throws(StoreError) -> Sent?
  ) throws(StoreError) -> Answer {
    let toDevices = Recipients.request(request.json, to: devices)
    guard let activity = request.recipients.activity, let key = request.activityKey else {
      return Answer(request: request, devices: devices, json: toDevices)
    }
    let known = try known(key, state)?.state
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

  /// The state of an activity is written; nil for none.
  ///
  /// - Returns: what was noted before.
  @discardableResult
  mutating func note(_ key: ScheduleKey, _ state: Sent?) -> Sent? {
    if written.count >= Self.mostWritten { written = [:] }
    let before = written[key]
    written[key] = state
    return before
  }

  /// Removes and returns the state of the activity that a request starts which is not sent; nil if it starts none.
  mutating func removeStart(
    _ accepted: Int64, _ json: some Sequence<UInt8>
  ) -> (key: ScheduleKey, state: ActivityState)? {
    let request = ScheduleRow.identity(of: json)
    guard let (key, sent) = written.first(where: { $0.value.isStart(accepted, request) }) else {
      return nil
    }
    written[key] = nil
    return (key, sent.state)
  }

  /// Recently registered update tokens that have not been sent the last state yet, with the keys of their activities
  /// and when each was first seen; once per second, otherwise empty.
  mutating func newTokens(
    now: UInt64, wall: Int64
  ) -> [(token: ActivityToken, key: ScheduleKey, firstSeen: Int64)] {
    guard now >= nextTokens, now >= notBefore else { return [] }
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
      // Requests to users report this. There may be no such requests and no such database.
      pause(now)
      return []
    }
  }

  /// A token got its activity's last state.
  mutating func served(_ token: ActivityToken) { tokens.served(token) }

  /// The next requests to ask for at once, at least one if any may be, with their questions; and the remaining requests.
  private func nextQuestions(
    _ areStatesKnown: Bool, _ state: (ScheduleKey) throws(StoreError) -> Sent?
  ) throws(StoreError) -> ([Request], [PersonQuestion], left: [Request]) {
    var (questions, requests, left): ([PersonQuestion], [Request], [Request]) = ([], [], [])
    var activities: Set<ScheduleKey> = []
    for (place, request) in waiting.enumerated() {
      guard questions.count < Self.questionsAtOnce else {
        left += waiting[place...]
        break
      }
      if request.recipients.activity != nil, !areStatesKnown {
        left.append(request)
        continue
      }
      var request = request
      if let key = request.activityKey {
        let isFirst = activities.insert(key).inserted
        if request.startsOrUpdates {
          // The result of the previous request decides whether this one starts the activity.
          guard isFirst else {
            left.append(request)
            continue
          }
          let sent = try known(key, state)
          let isRunning = sent.map { $0.state.isRunning && !$0.isStart(by: request) } ?? false
          request.recipients.activity?.event = isRunning ? .update : .start
          if isRunning { request.json = StartedActivity.update(of: request.json) }
        }
      }
      questions += request.questions
      requests.append(request)
    }
    return (requests, questions, left)
  }

  /// Logs, once per second, whether devices are still being read from the topics; until then nothing is looked up.
  /// Where no devices are kept, none are missing.
  mutating func lookAtState(now: UInt64) {
    guard now >= nextState, now >= notBefore else { return }
    nextState = now + 1_000
    var reason: String?
    if let state = state(now), case .filling = state, let obstacle = state.obstacle {
      reason = "requests to users and campaigns wait: \(obstacle)"
    }
    context.status.set("devices", obstacle: reason)
  }

  private mutating func state(_ now: UInt64) -> TableState? {
    do throws(StoreError) {
      return try open().state()
    } catch {
      // Requests to users report this.
      pause(now)
      return nil
    }
  }

  private mutating func open() throws(StoreError) -> UsersReader {
    if let reader { return reader }
    let new = try UsersReader(location)
    reader = new
    return new
  }

  /// The database has failed: it is opened again, and in this turn nobody waits for it once more.
  private mutating func pause(_ now: UInt64) {
    reader = nil
    notBefore = now + Self.pause
  }

  private func note(_ error: StoreError) {
    guard counters[.peopleFailing] == 0 else { return }
    counters.set(.peopleFailing, 1)
    context.log(SchedulerLog.usersUnknown, ["error": "\(error)"])
  }

  private func noteSuccess() {
    guard counters[.peopleFailing] > 0 else { return }
    counters.set(.peopleFailing, 0)
    context.log(SchedulerLog.usersKnown)
  }
}
