// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import BrokerCore

/// Topics, offsets, groups by name, and what a restart finds again.
@Suite struct NodeTests {
  private var desk = Desk()

  private mutating func commit(
    _ offset: Int64, metadata: String = "", group: String = "g"
  ) -> Value {
    desk.answer(
      8,
      [
        "GroupId": .text(group), "Generation": -1,
        "Topics": [
          [
            "Name": "t",
            "Partitions": [
              ["Index": 0, "Offset": .int(offset), "LeaderEpoch": -1, "Metadata": .text(metadata)]
            ],
          ]
        ],
      ])["Topics"].list[0]["Partitions"].list[0]["Error"]
  }

  private mutating func committed() -> Value {
    desk.answer(9, ["Groups": [["GroupId": "g", "Topics": .null]]])["Groups"].list[0]["Topics"]
  }

  /// - Parameter operation: 0 sets, 1 removes, 2 adds to a list, 3 takes from it.
  private mutating func alter(_ name: String, _ operation: Value, _ value: Value) -> Value {
    let entry: Value = ["Name": .text(name), "Operation": operation, "Value": value]
    let asked: Value = ["Results": [["Type": 2, "Name": "t", "Configs": [entry]]]]
    return desk.answer(44, asked)["Results"].list[0]["Error"]
  }

  private mutating func policy() -> Value {
    let asked: Value = ["Results": [["Type": 2, "Name": "t", "Keys": ["cleanup.policy"]]]]
    return desk.answer(32, asked)["Results"].list[0]["Configs"].list[0]["Value"]
  }

  private mutating func topics(_ names: [String]?) -> [Value] {
    let asked = names.map { Value.list($0.map { ["Name": .text($0)] }) } ?? .null
    return desk.answer(3, ["Topics": asked])["Topics"].list
  }

  @Test mutating func `topics are made, listed, changed and removed`() {
    let create: Value = [
      "Topics": [
        [
          "Name": "t", "Partitions": 3, "Replication": 1,
          "Configs": [["Name": "cleanup.policy", "Value": "compact"]],
        ],
        ["Name": "bad name", "Partitions": 1, "Replication": 1],
        ["Name": "two", "Partitions": 1, "Replication": 2],
        [
          "Name": "odd", "Partitions": 1, "Replication": 1,
          "Configs": [["Name": "retention.ms", "Value": "x"]],
        ],
      ]
    ]
    #expect(desk.answer(19, create)["Topics"].list.map { $0["Error"].int } == [0, 17, 38, 40])
    #expect(desk.answer(19, create)["Topics"].list[0]["Error"] == 36)
    let twice: Value = ["Name": "twice", "Partitions": 1, "Replication": 1]
    let answers = desk.answer(19, ["Topics": [twice, twice]])["Topics"].list
    #expect(answers.map { $0["Error"].int } == [42])
    #expect(topics(nil).map { $0["Name"].text } == ["t"])
    #expect(topics(["t"])[0]["Partitions"].list.count == 3)
    #expect(topics(["none", "?"]).map { $0["Error"] } == [3, 17])
    let id = topics(["t"])[0]["Id"]
    // Asked for by its id, the name is null or, by Apache's Java client, empty.
    let unknownID = Value.bytes([UInt8](repeating: 7, count: 16)[...])
    for name in [Value.null, ""] {
      let found = desk.answer(
        3, ["Topics": [["Id": id, "Name": name], ["Id": unknownID, "Name": name]]])["Topics"].list
      #expect(found[0]["Name"] == "t" && found[0]["Id"] == id && found[0]["Error"].int == 0)
      #expect(found[1]["Error"] == 100 && found[1]["Id"] == unknownID && found[1]["Name"].isNull)
    }
    let grown = desk.answer(
      37, ["Results": [["Name": "t", "Count": 5], ["Name": "t", "Count": 2]]])
    #expect(grown["Results"].list.map { $0["Error"].int } == [0, 37])
    #expect(topics(["t"])[0]["Partitions"].list.count == 5)
    let altered = desk.answer(
      44,
      [
        "Results": [
          [
            "Type": 2, "Name": "t",
            "Configs": [["Name": "retention.ms", "Operation": 0, "Value": "77"]],
          ]
        ]
      ])
    #expect(altered["Results"].list[0]["Error"].int == 0)
    let configs = desk.answer(32, ["Results": [["Type": 2, "Name": "t", "Keys": .null]]])
    let values = configs["Results"].list[0]["Configs"].list
    #expect(values.first { $0["Name"] == "retention.ms" }?["Value"] == "77")
    #expect(values.first { $0["Name"] == "cleanup.policy" }?["Value"] == "compact")
    #expect(desk.answer(20, ["Topics": [["Name": "t"]]])["Topics"].list[0]["Error"].int == 0)
    #expect(topics(nil).isEmpty)
    // Made again it is another one.
    _ = desk.answer(19, create)
    #expect(topics(["t"])[0]["Id"] != id)
  }

  /// By DeleteTopics and DeleteRecords.
  @Test(arguments: [20, 21] as [Int16])
  func `an answer to Fetch keeps its records when they are deleted before it is written`(
    key: Int16
  ) throws {
    var desk = Desk()
    desk.create("t")
    let fetch = desk.ask(1, Desk.fetchRequest("t", from: 0), version: 11, from: 2)
    #expect(fetch == .later)
    let batch = Batches.batch([("a", "b")])
    _ = desk.produce("t", batch)
    let partition: Value = ["Index": 0, "Offset": -1]
    let topic: Value = key == 20 ? ["Name": "t"] : ["Name": "t", "Partitions": .list([partition])]
    _ = desk.answer(key, ["Topics": .list([topic])])
    #expect(desk.storage.size == 0)
    let replies = desk.node.takeReplies(desk.storage)
    let body = try #require(replies.first?.body)
    let records = body["Topics"].list[0]["Partitions"].list[0]["Records"]
    #expect(records.bytes.count == batch.count)
  }

  @Test mutating func `a list of a configuration is added to and taken from`() {
    desk.create("t")
    #expect(alter("cleanup.policy", 2, "compact,delete").int == 0)
    #expect(policy() == "delete,compact")
    #expect(alter("cleanup.policy", 3, "delete").int == 0)
    #expect(policy() == "compact")
    #expect(alter("cleanup.policy", 3, "compact").int == 0)
    #expect(policy() == "")
    #expect(alter("cleanup.policy", 2, "none") == 40)
    #expect(alter("retention.ms", 2, "5") == 40)
    #expect(alter("compression.type", 0, "lz4").int == 0)
    #expect(alter("compression.type", 0, "lzma") == 40)
    #expect(alter("flush.ms", 0, "100").int == 0)
    #expect(alter("cleanup.policy", 1, .null).int == 0)
    #expect(policy() == "delete")
  }

  @Test func `a topic that is asked for is made where that is wanted`() {
    var options = Node.Options()
    options.createsTopics = true
    options.partitions = 3
    var desk = Desk(options)
    func ask(_ name: String, _ mayCreate: Value) -> Value {
      ["Topics": [["Name": .text(name)]], "MayCreate": mayCreate]
    }
    #expect(desk.answer(3, ask("new", 0))["Topics"].list[0]["Error"] == 3)
    #expect(desk.answer(3, ask("new", 1))["Topics"].list[0]["Error"] == 3)
    #expect(desk.answer(3, ask("new", 0))["Topics"].list[0]["Partitions"].list.count == 3)
    #expect(desk.answer(3, ask("no name", 1))["Topics"].list[0]["Error"] == 17)
    desk.node.access.revokeAll(from: AccessControl.anonymous)
    desk.node.access.grant(.init(.describe, .topic("other")), to: AccessControl.anonymous)
    #expect(desk.answer(3, ask("other", 1))["Topics"].list[0]["Error"] == 3)
    desk.node.access.grant(.init(.create, .topic("other")), to: AccessControl.anonymous)
    #expect(desk.answer(3, ask("other", 1))["Topics"].list[0]["Error"] == 3)
    #expect(desk.answer(3, ask("other", 0))["Topics"].list[0]["Partitions"].list.count == 3)
    var plain = Desk()
    #expect(plain.answer(3, ask("new", 1))["Topics"].list[0]["Error"] == 3)
  }

  @Test mutating func `a broker tells its own settings`() {
    let all = desk.answer(32, ["Results": [["Type": 4, "Name": "1", "Keys": .null]]])
    let configs = all["Results"].list[0]["Configs"].list
    let address = configs.first { $0["Name"] == "advertised.listeners" }
    #expect(address?["Value"] == "PLAINTEXT://h:9001")
    #expect(address?["Source"] == 4)
    #expect(configs.first { $0["Name"] == "log.retention.ms" }?["Value"] == "604800000")
    let some = desk.answer(32, ["Results": [["Type": 4, "Name": "1", "Keys": ["node.id"]]]])
    #expect(some["Results"].list[0]["Configs"].list.map { $0["Value"] } == ["1"])
    let none = desk.answer(32, ["Results": [["Type": 4, "Name": "7", "Keys": .null]]])
    #expect(none["Results"].list[0]["Error"] == 42)
  }

  @Test mutating func `replicas are where they have to be`() {
    desk.create("t", partitions: 2)
    desk.create("other")
    _ = desk.produce("t", Batches.batch([("k", "v")]))
    let all = desk.answer(35, ["Topics": .null])["Results"].list[0]["Topics"].list
    #expect(all.map { $0["Name"].text } == ["other", "t"])
    let sizes = all[1]["Partitions"].list.map { $0["Size"].int }
    #expect(sizes[0] > 0 && sizes[1] == 0)
    let some = desk.answer(35, ["Topics": [["Name": "t", "Partitions": [1, 7]]]])
    #expect(some["Results"].list[0]["Topics"].list[0]["Partitions"].list.count == 1)
    let elected = desk.answer(43, ["Topics": [["Name": "t", "Partitions": [0, 7]]]])
    #expect(elected["Results"].list[0]["Partitions"].list.map { $0["Error"].int } == [84, 3])
    #expect(desk.answer(43, ["Topics": .null])["Results"].list.isEmpty)
    let reassigned = desk.answer(
      45,
      [
        "Topics": [
          [
            "Name": "t",
            "Partitions": [
              ["Index": 0, "Replicas": [1]], ["Index": 1, "Replicas": [2]],
              ["Index": 1, "Replicas": .null], ["Index": 7, "Replicas": [1]],
            ],
          ]
        ]
      ])
    let errors = reassigned["Topics"].list[0]["Partitions"].list.map { $0["Error"].int }
    #expect(errors == [0, 39, 85, 3])
    #expect(desk.answer(46, ["Topics": .null])["Topics"].list.isEmpty)
  }

  @Test mutating func `partitions are assigned to brokers that there are`() {
    func create(_ name: Value, _ assigned: [(index: Int64, brokers: [Value])]) -> Value {
      let assignments: [Value] = assigned.map {
        ["Index": .int($0.index), "Brokers": .list($0.brokers)]
      }
      return [
        "Topics": [
          ["Name": name, "Partitions": -1, "Replication": -1, "Assignments": .list(assignments)]
        ]
      ]
    }
    func error(_ body: Value) -> Int64 { desk.answer(19, body)["Topics"].list[0]["Error"].int }
    #expect(error(create("a", [(1, [1]), (0, [1])])) == 0)
    #expect(topics(["a"])[0]["Partitions"].list.count == 2)
    #expect(error(create("b", [(0, [7])])) == 39)
    #expect(error(create("b", [(0, [1]), (2, [1])])) == 39)
    #expect(error(create("b", [(0, [])])) == 39 && error(create("b", [(0, [1, 1])])) == 39)
    func grow(_ brokers: [Value]) -> Int64 {
      let assignments: [Value] = brokers.map { ["Brokers": .list([$0])] }
      let asked: Value = ["Name": "a", "Count": 4, "Assignments": .list(assignments)]
      return desk.answer(37, ["Results": [asked]])["Results"].list[0]["Error"].int
    }
    #expect(grow([1]) == 39 && grow([1, 7]) == 39)
    #expect(grow([1, 1]) == 0 && topics(["a"])[0]["Partitions"].list.count == 4)
  }

  @Test mutating func `offsets are kept with their metadata`() {
    desk.create("t")
    #expect(commit(5, metadata: "map") == 0)
    let partition = committed().list[0]["Partitions"].list[0]
    #expect(partition["Offset"] == 5 && partition["Metadata"] == "map")
    #expect(commit(5, metadata: String(repeating: "x", count: 4_097)) == 12)
    let unknown = desk.answer(
      9, ["Groups": [["GroupId": "h", "Topics": [["Name": "t", "Partitions": [0]]]]]])
    #expect(unknown["Groups"].list[0]["Topics"].list[0]["Partitions"].list[0]["Offset"] == -1)
    #expect(desk.answer(16, [:])["Groups"].list.map { $0["GroupId"].text } == ["g"])
    let deleted = desk.answer(42, ["Groups": ["g", "h"]])["Groups"].list
    #expect(deleted.map { $0["Error"].int } == [0, 69])
    #expect(committed().list.isEmpty)
  }

  @Test(.timeLimit(.minutes(1)))
  mutating func `a request about one of many groups does not take the time of all`() {
    desk.create("t")
    var refused = 0
    for number in 0..<20_000 where commit(1, group: "g\(number)") != 0 { refused += 1 }
    #expect(refused == 0)
  }

  @Test mutating func `a deletion that cannot be recorded is refused`() {
    desk.create("t")
    #expect(commit(5) == 0)
    let full = FullStorage()
    let offsets = desk.node.deleteOffsets(
      ["GroupId": "g", "Topics": [["Name": "t", "Partitions": [["Index": 0]]]]], full)
    #expect(offsets["Topics"].list[0]["Partitions"].list[0]["PartitionError"] == 56)
    let groups = desk.node.deleteGroups(["Groups": ["g"]], full)
    #expect(groups["Groups"].list[0]["Error"] == 56)
    #expect(committed().list[0]["Partitions"].list[0]["Offset"] == 5)
  }

  @Test mutating func `names of other bytes but equal text are two groups`() {
    desk.create("t")
    #expect(commit(5, group: "caf\u{E9}") == 0)
    #expect(commit(7, group: "cafe\u{301}") == 0)
    let groups = desk.answer(16, [:])["Groups"].list.map { Array($0["GroupId"].text.utf8).count }
    #expect(groups.sorted() == [5, 6])
    #expect(desk.answer(42, ["Groups": ["caf\u{E9}"]])["Groups"].list[0]["Error"] == 0)
    #expect(desk.answer(16, [:])["Groups"].list.count == 1)
  }

  @Test mutating func `a topic that goes takes its offsets along`() {
    desk.create("t")
    _ = commit(5)
    _ = desk.answer(20, ["Topics": [["Name": "t"]]])
    desk.create("t")
    #expect(committed().list.isEmpty)
  }

  @Test mutating func `producers get ids of their own, transactions are refused for good`() {
    let first = desk.answer(22, ["TransactionalId": .null, "ProducerId": -1, "Epoch": -1])
    let second = desk.answer(22, ["TransactionalId": .null, "ProducerId": -1, "Epoch": -1])
    #expect(first["Error"].int == 0 && first["ProducerId"] != second["ProducerId"])
    let next = desk.answer(
      22, ["TransactionalId": .null, "ProducerId": first["ProducerId"], "Epoch": 3])
    #expect(next["ProducerId"] == first["ProducerId"] && next["Epoch"] == 4)
    #expect(desk.answer(22, ["TransactionalId": "x"])["Error"] == 53)
    let coordinator = desk.answer(10, ["KeyType": 1, "Coordinators": ["x"]])
    #expect(coordinator["Coordinators"].list[0]["Error"] == 53)
  }

  @Test mutating func `a group answers at its coordinator alone`() {
    desk = Desk(brokers: 2)
    let isKnown = desk.node.setCoordinator("g", broker: 2)
    #expect(isKnown)
    let found = desk.answer(10, ["KeyType": 0, "Coordinators": ["g"]])["Coordinators"].list[0]
    #expect(found["NodeId"] == 2 && found["Port"] == 9_002)
    #expect(desk.answer(12, ["GroupId": "g"])["Error"] == 16)
    #expect(desk.answer(12, ["GroupId": "g"], broker: 2)["Error"] == 25)
  }

  @Test mutating func `faults are answered once each, in their order`() {
    desk.create("t")
    desk.node.inject([6, 0, -195], into: 0)
    #expect(desk.produce("t", Batches.batch([("a", "b")]))["Error"] == 6)
    #expect(desk.produce("t", Batches.batch([("a", "b")]))["BaseOffset"] == 0)
    #expect(desk.ask(0, ["Acks": 1, "Topics": []]) == .close)
    desk.node.inject([6, 6], into: 0)
    desk.node.clearFaults(of: 0)
    #expect(desk.produce("t", Batches.batch([("a", "b")]))["BaseOffset"] == 1)
    _ = desk.node.setTopic("t", .unknownTopicOrPartition)
    #expect(topics(["t"])[0]["Error"] == 3)
  }

  @Test mutating func `topics have so many partitions together, and no more`() {
    var options = Node.Options()
    options.mostPartitions = 5
    desk = Desk(options)
    func create(_ name: Value, _ partitions: Int64) -> Value {
      ["Topics": [["Name": name, "Partitions": .int(partitions), "Replication": 1]]]
    }
    #expect(desk.answer(19, create("a", 4))["Topics"].list[0]["Error"].int == 0)
    #expect(desk.answer(19, create("b", 2))["Topics"].list[0]["Error"] == 44)
    func grow(_ count: Int64) -> Value {
      desk.answer(37, ["Results": [["Name": "a", "Count": .int(count)]]])["Results"].list[0]
    }
    #expect(grow(6)["Error"] == 44)
    #expect(grow(5)["Error"].int == 0)
  }

  @Test mutating func `state is read again as it was written`() {
    desk.create("t", partitions: 2, ["retention.ms": "77"])
    desk.create("gone")
    _ = commit(9, metadata: "m")
    _ = desk.produce("t", Batches.batch([("a", "b"), ("c", "d")]))
    _ = desk.answer(21, ["Topics": [["Name": "t", "Partitions": [["Index": 0, "Offset": 1]]]]])
    _ = desk.answer(20, ["Topics": [["Name": "gone"]]])
    var other = Desk(seed: 2)
    let isRead = desk.node.journal.map { other.node.restore($0[...]) }
    #expect(!isRead.contains(false))
    #expect(other.node.clusterID == desk.node.clusterID)
    #expect(Desk(seed: 2).node.clusterID != desk.node.clusterID)
    #expect(other.node.journal.dropFirst() == desk.node.journal.dropFirst())
    let again = other.answer(3, ["Topics": .null])["Topics"].list
    #expect(again.map { $0["Name"] } == ["t"] && again[0]["Id"] == topics(["t"])[0]["Id"])
    // Ids of producers are never given twice.
    let before = desk.answer(22, ["TransactionalId": .null, "ProducerId": -1])["ProducerId"].int
    let after = other.answer(22, ["TransactionalId": .null, "ProducerId": -1])["ProducerId"].int
    #expect(after > before)
    let isAnyRead = other.node.restore([1, 2, 3])
    #expect(!isAnyRead)
  }
}

/// A storage without room.
private final class FullStorage: LogStorage {
  func append(
    _ head: [UInt8], _ rest: ArraySlice<UInt8>, to segment: SegmentID
  ) throws(StorageFull) { throw StorageFull("full") }

  func read(_ range: StoredRange, into output: inout [UInt8]) {}
  func remove(_ segment: SegmentID) {}
  func note(_ entry: [UInt8]) throws(StorageFull) { throw StorageFull("full") }
}
