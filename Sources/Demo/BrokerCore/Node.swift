// SPDX-License-Identifier: Apache-2.0
import Contract
import Waiting

/// A client connection's number, assigned by the shell.
public struct ConnectionID: Hashable, Sendable {
  public var number: UInt64
  public init(_ number: UInt64) { self.number = number }
}

public struct TopicPartition: Hashable, Sendable {
  public var topic: String
  public var partition: Int32

  public init(_ topic: String, _ partition: Int32) {
    self.topic = topic
    self.partition = partition
  }
}

/// The time of an event in milliseconds: the wall clock for records, and a monotonic clock for timeouts.
public struct Moment: Equatable, Sendable {
  public var time: Int64
  public var ticks: Int64

  public init(time: Int64, ticks: Int64) {
    self.time = time
    self.ticks = ticks
  }
}

/// The sender of a request: a connection to one of the cluster's brokers.
public struct Caller: Sendable {
  public var connection: ConnectionID
  public var broker: Int32
  public var host: String
  /// The user, which the node sets.
  var user = AccessControl.anonymous

  public init(_ connection: ConnectionID, broker: Int32 = 1, host: String = "") {
    self.connection = connection
    self.broker = broker
    self.host = host
  }
}

/// The whole cluster as a value type: requests in, responses out, with the records in a `LogStorage`.
///
/// It is one server. For tests it can simulate several brokers, each with a port and leading some partitions.
public struct Node: Sendable {
  public struct Broker: Equatable, Sendable {
    public var id: Int32
    public var host: String
    public var port: UInt16

    public init(id: Int32, host: String, port: UInt16) {
      self.id = id
      self.host = host
      self.port = port
    }
  }

  public struct Options: Sendable {
    /// The time that an empty group waits for more members, in milliseconds.
    public var firstJoinDelay: Int64 = 100
    /// The default number of partitions of a new topic.
    public var partitions: Int32 = 1
    /// Whether a missing topic is created when a client asks for it, as with Kafka's `auto.create.topics.enable`.
    public var createsTopics = false
    /// The maximum number of partitions of all topics.
    public var mostPartitions = 100_000
    /// The maximum number of record bytes in a response, regardless of the client's limit.
    public var largestFetch = 1 << 20
    public var shortestSession: Int64 = 1
    public var longestSession: Int64 = 1_800_000
    /// The CRC-32C of incoming batches, using the processor's instruction if the shell supports it.
    public var checksum: @Sendable (ArraySlice<UInt8>) -> UInt32 = CRC32C.checksum

    public init() {}
  }

  struct Topic: Sendable {
    let name: String
    let number: Int64
    let id: [UInt8]
    var settings = TopicSettings()
    var logs: [PartitionLog]
    var leaders: [Int32]
    /// The error in the topic's metadata; for tests.
    var fault: ErrorCode?

    func has(_ partition: Int32) -> Bool { logs.indices.contains(Int(partition)) }

    /// Adds partitions up to this count; leaders are assigned round-robin.
    mutating func grow(to count: Int32, _ brokers: [Broker]) {
      for index in Int32(logs.count)..<max(count, Int32(logs.count)) {
        logs.append(PartitionLog(.init(topic: number, partition: index)))
        leaders.append(brokers[Int(index) % brokers.count].id)
      }
    }
  }

  /// The result of a request.
  public enum Outcome: Equatable, Sendable {
    case answer(Value)
    /// The connection is closed after this response.
    case farewell(Value)
    /// The request needs no response.
    case silent
    /// The response comes later, from `takeReplies`.
    case later
    /// The connection is closed.
    case close
  }

  /// A Fetch request without enough records.
  struct WaitingFetch {
    let caller: Caller
    let request: Value
    let version: Int16
    let until: Int64
    /// The number of bytes still missing.
    var wanted: Int
    let logs: [LogID]
  }

  public let options: Options
  public internal(set) var brokers: [Broker]
  /// The users and their rights.
  public var access = AccessControl()
  var sessions: [ConnectionID: Session] = [:]
  /// A unique id for each newly created cluster; the journal stores it.
  public internal(set) var clusterID = ""
  /// Whether metadata has neither that id nor a controller; for tests.
  public var hidesClusterID = false
  var topics: [String: Topic] = [:]
  var namesByID: [[UInt8]: String] = [:]
  var groups: [ExactText: Group] = [:]
  var coordinators: [ExactText: Int32] = [:]
  var fetches: [ConnectionID: WaitingFetch] = [:]
  /// The connections whose waiting Fetch has enough records by now.
  var satisfied: [ConnectionID] = []
  /// A lower bound for the next Fetch timeout, in ticks; `groupsDue` is the one for group timeouts.
  var fetchesDue = Int64.max
  private var groupsDue = Int64.max
  var replies: [Group.Reply] = []
  var nextTopic: Int64 = 1
  var nextProducer: Int64 = 1_000
  var random: SeededGenerator
  /// Injected errors, by API key.
  var faults: [Int16: [Int16]] = [:]
  /// The number of records appended since the start.
  public internal(set) var appended: UInt64 = 0
  /// The reason why the last records were rejected for lack of space; nil after a success.
  public internal(set) var storageProblem: String?

  /// - Parameter seed: The seed for ids of topics and members.
  public init(brokers: [Broker], seed: UInt64, _ options: Options = Options()) {
    self.options = options
    self.brokers = brokers
    random = SeededGenerator(seed: seed)
    clusterID = "martlet-" + Self.hex(newID())
  }

  mutating func newID() -> [UInt8] {
    var id = [UInt8](repeating: 0, count: 16)
    id.put(Int64(bitPattern: random.next()), 8, at: 0)
    id.put(Int64(bitPattern: random.next()), 8, at: 8)
    return id
  }

  /// Returns the responses due for this or earlier requests; each connection has one request at a time.
  public mutating func takeReplies(_ storage: any LogStorage) -> [Group.Reply] {
    finishSatisfied(storage)
    defer { replies = [] }
    return replies
  }

  public mutating func handle(
    _ request: Request, from caller: Caller, at now: Moment, _ storage: any LogStorage
  ) -> Outcome {
    if let outcome = authenticate(request, caller.connection) { return outcome }
    if let fault = faults[request.api.key]?.first {
      faults[request.api.key]?.removeFirst()
      if faults[request.api.key]?.isEmpty == true { faults[request.api.key] = nil }
      guard let error = ErrorCode(rawValue: fault) else { return .close }
      if error != .none {
        let isSilent = request.api.key == 0 && request.body["Acks"] == 0
        return isSilent ? .silent : .answer(Refusal.answer(to: request.body, request.api, error))
      }
    }
    var (request, caller) = (request, caller)
    caller.user = user(of: caller.connection) ?? ""
    if let error = refusal(of: request, caller) {
      return .answer(Refusal.answer(to: request.body, request.api, error))
    }
    let refused = takeRefused(from: &request, caller)
    let outcome = perform(request, caller, now, storage)
    guard let (list, answers) = refused, case .answer(let body) = outcome else { return outcome }
    return .answer(body.with(list, .list(body[list].list + answers)))
  }

  private mutating func perform(
    _ request: Request, _ caller: Caller, _ now: Moment, _ storage: any LogStorage
  ) -> Outcome {
    let (body, version) = (request.body, request.version)
    switch request.api.key {
    case 0: return produce(body, caller, now, storage)
    case 1: return fetch(body, version, caller, now, storage)
    case 11, 14:
      defer { lookAtGroup(body["GroupId"].text.exact) }
      return rebalance(request, caller, now)
    default:
      defer { lookAtGroup(body["GroupId"].text.exact) }
      return .answer(answer(request, body, caller, now, storage))
    }
  }

  private mutating func answer(
    _ request: Request, _ body: Value, _ caller: Caller, _ now: Moment, _ storage: any LogStorage
  ) -> Value {
    switch request.api.key {
    case 2: listOffsets(body, request.version, caller, storage)
    case 3: metadata(body, request.version, caller, storage)
    case 8: commitOffsets(body, caller, now, storage)
    case 9: committedOffsets(body, request.version, caller)
    case 10: findCoordinator(body, request.version, caller)
    case 12: heartbeat(body, caller, now)
    case 13: leave(body, request.version, caller, now)
    case 15: describeGroups(body, caller)
    case 16: listGroups(body, caller)
    case 18: Self.versions
    case 19: createTopics(body, caller, storage)
    case 20: deleteTopics(body, request.version, caller, storage)
    case 21: deleteRecords(body, caller, storage)
    case 22: initProducer(body, storage)
    case 23: offsetsForEpochs(body, caller)
    case 32: describeConfigs(body)
    case 33: alterConfigs(body, isIncremental: false, storage)
    case 35: describeFolders(body)
    case 37: createPartitions(body, storage)
    case 42: deleteGroups(body, storage)
    case 43: electLeaders(body)
    case 44: alterConfigs(body, isIncremental: true, storage)
    case 45: reassign(body)
    // Partition reassignments are never in progress.
    case 46: [:]
    case 47: deleteOffsets(body, storage)
    case 60: describeCluster(tellsRights: body["Rights"].isTrue, caller)
    default: Refusal.answer(to: body, request.api, .unsupportedVersion)
    }
  }

  /// The response to ApiVersions.
  public static let versions: Value = [
    "Keys": .list(
      API.all.map { api in
        [
          "Key": .number(api.key), "Min": .number(api.versions.lowerBound),
          "Max": .number(api.versions.upperBound),
        ]
      })
  ]

  /// The next time, in ticks, at which `tick` may have something to do.
  public var nextDeadline: Int64 { min(fetchesDue, groupsDue) }

  /// A request changes one group; a look at all of them for each request would take long where they are many.
  private mutating func lookAtGroup(_ name: ExactText) {
    if let group = groups[name] { groupsDue = min(groupsDue, group.nextDeadline) }
  }

  private mutating func lookAtGroups() {
    groupsDue = groups.values.lazy.map(\.nextDeadline).min() ?? .max
  }

  /// Handles expired timeouts.
  public mutating func tick(at now: Moment, _ storage: any LogStorage) {
    if fetchesDue <= now.ticks {
      for (connection, fetch) in fetches where fetch.until <= now.ticks {
        finish(connection, storage)
      }
      fetchesDue = fetches.values.lazy.map(\.until).min() ?? .max
    }
    guard groupsDue <= now.ticks else { return }
    for (name, group) in groups where group.nextDeadline <= now.ticks {
      replies += groups[name]?.tick(now: now.ticks) ?? []
      if groups[name]?.isDead == true { groups[name] = nil }
    }
    lookAtGroups()
  }

  /// Drops a closed connection and its waiting requests.
  public mutating func disconnected(_ connection: ConnectionID, at now: Moment) {
    fetches[connection] = nil
    sessions[connection] = nil
    for name in groups.keys { groups[name]?.disconnected(connection, now: now.ticks) }
    lookAtGroups()
  }
}
