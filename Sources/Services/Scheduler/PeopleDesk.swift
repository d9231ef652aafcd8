// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import Records
import ServiceKit
import Store

/// The requests to people that are due, until their devices are known: looked up in the database of `martlet-feedback`,
/// many at once. What cannot be looked up waits.
struct PeopleDesk {
  /// One request to people.
  struct Request {
    /// Its place in the scheduler's machine.
    let slot: Int
    let key: ScheduleKey
    let addressees: Addressees
    let json: [UInt8]
    let headers: [KafkaHeader]

    /// The questions that it makes.
    var questions: [PersonQuestion] {
      addressees.users.map {
        PersonQuestion(
          user: $0, app: key.app, environment: key.environment,
          types: addressees.registrationTypes, limit: addressees.devicesOfEach)
      }
    }
  }

  /// Questions that are asked at once.
  private static let questionsAtOnce = 1_000
  /// After a failure nothing is asked for so long, in milliseconds.
  private static let pause: UInt64 = 500

  private let location: String
  private let onePerModel: Set<String>
  private let context: ServiceContext
  private let counters: Counters<SchedulerCounter>
  private var reader: PeopleReader?
  /// Whether the database has what the topics say, as far as we know.
  private var isFilled = false
  private var waiting: [Request] = []
  private var notBefore: UInt64 = 0

  /// - Parameters:
  ///   - location: of the database of device tokens.
  ///   - onePerModel: apps of whose devices with the same model and bundle only the newest counts.
  init(
    _ location: String, onePerModel: Set<String>, _ context: ServiceContext,
    _ counters: Counters<SchedulerCounter>
  ) {
    (self.location, self.onePerModel) = (location, onePerModel)
    (self.context, self.counters) = (context, counters)
  }

  /// A request that is due. Each user of it is meant once.
  mutating func add(
    _ slot: Int, _ key: ScheduleKey, _ addressees: Addressees, _ json: [UInt8],
    _ headers: [KafkaHeader]
  ) {
    var seen: Set<String> = []
    var addressees = addressees
    addressees.users = addressees.users.filter { seen.insert($0).inserted }
    waiting.append(
      Request(slot: slot, key: key, addressees: addressees, json: json, headers: headers))
  }

  /// Gives up what waits.
  ///
  /// - Returns: its places.
  mutating func removeAll() -> [Int] {
    defer { waiting = [] }
    return waiting.map(\.slot)
  }

  /// Looks up the devices of requests that wait. Empty when there are none, or when the database does not answer.
  ///
  /// - Parameter now: monotonic milliseconds.
  mutating func look(now: UInt64) -> [(request: Request, devices: [Addressees.Device])] {
    defer { counters.set(.peopleWaiting, waiting.count) }
    guard !waiting.isEmpty, now >= notBefore else { return [] }
    let (requests, questions) = nextQuestions()
    do throws(StoreError) {
      let answers = try ask(questions)
      waiting.removeFirst(requests.count)
      noteSuccess()
      var place = 0
      return requests.map { request in
        defer { place += request.addressees.users.count }
        let found = answers[place..<place + request.addressees.users.count].flatMap {
          Addressees.chosen($0, onePerModel: onePerModel.contains(request.key.app))
        }
        return (request, found)
      }
    } catch {
      note(error)
      notBefore = now + Self.pause
      return []
    }
  }

  /// As many requests as are asked for at once, at least one, with their questions.
  private func nextQuestions() -> ([Request], [PersonQuestion]) {
    var questions: [PersonQuestion] = []
    let requests = waiting.prefix { request in
      guard questions.count < Self.questionsAtOnce else { return false }
      questions += request.questions
      return true
    }
    return (Array(requests), questions)
  }

  private mutating func ask(
    _ questions: [PersonQuestion]
  ) throws(StoreError) -> [[Addressees.Device]] {
    let reader = try open()
    if !isFilled { try reader.demandFilled() }
    isFilled = true
    return try reader.devices(questions)
  }

  private mutating func open() throws(StoreError) -> PeopleReader {
    if let reader { return reader }
    let new = try PeopleReader(location)
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
