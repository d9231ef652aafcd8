// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@testable import BrokerCore

/// What users may do, and what they are answered otherwise: numbers of errors as in Kafka.
@Suite struct AccessTests {
  typealias Right = AccessControl.Right

  // MARK: Rights

  @Test func `some rights include others`() {
    func included(in operation: AccessControl.Operation) -> Set<AccessControl.Operation> {
      Set(AccessControl.Operation.allCases.filter(operation.includes)).subtracting([operation])
    }
    for operation in [AccessControl.Operation.read, .write, .delete, .alter] {
      #expect(included(in: operation) == [.describe])
    }
    #expect(included(in: .alterConfigs) == [.describeConfigs])
    #expect(included(in: .all).count == AccessControl.Operation.allCases.count - 1)
    for operation in [
      AccessControl.Operation.create, .describe, .describeConfigs, .idempotentWrite,
    ] {
      #expect(included(in: operation).isEmpty)
    }
  }

  @Test func `a right is for the bytes of a name`() {
    for isPrefix in [true, false] {
      let right = Right(.read, .group("caf\u{E9}"), isPrefix: isPrefix)
      #expect(right.covers(.group("caf\u{E9}")) && !right.covers(.group("cafe\u{301}")))
    }
  }

  @Test func `a file of users`() throws {
    let access = try AccessControl(
      file: """
        # Those who write.
        user writer secret
          Write topic push.requests
          idempotentwrite cluster

        user reader other#secret
          read topic push.*
          read group *
        """)
    #expect(!access.admitsAnonymous)
    #expect(access.may("writer", .write, .topic("push.requests")))
    #expect(access.may("writer", .describe, .topic("push.requests")))
    #expect(!access.may("writer", .write, .topic("push.requests2")))
    #expect(!access.may("writer", .read, .topic("push.requests")))
    #expect(access.may("writer", .idempotentWrite, .cluster))
    #expect(!access.may("writer", .create, .cluster))
    #expect(access.may("reader", .read, .topic("push.requests")))
    #expect(!access.may("reader", .read, .topic("pull")))
    #expect(access.may("reader", .read, .group("any")))
    #expect(!access.may("reader", .read, .cluster))
    #expect(!access.may(AccessControl.anonymous, .describe, .topic("push.requests")))
    #expect(access.user(token: token("reader", "other#secret")) == "reader")
  }

  @Test(arguments: [
    ("", "no user"), ("read topic t", "line 1: expected user NAME PASSWORD before"),
    ("user a", "line 1: expected user NAME PASSWORD"),
    ("user a b c", "line 1: expected user NAME PASSWORD"),
    ("user a b\n\nuser a c", "line 3: user a is there already"),
    ("user a b\nreed topic t", "line 2: expected OPERATION topic NAME"),
    ("user a b\nread topic", "line 2: expected OPERATION topic NAME"),
    ("user a b\nread cluster t", "line 2: expected OPERATION topic NAME"),
    ("user a b\nread", "line 2: expected OPERATION topic NAME"),
    ("# all\r\nuser a b\r\nreed topic t\r\n", "line 3: expected OPERATION topic NAME"),
  ])
  func `a wrong line of the file is named`(text: String, problem: String) {
    let error = #expect(throws: AccessControl.FileProblem.self) { try AccessControl(file: text) }
    #expect(error?.description.hasPrefix(problem) == true, "\(error?.description ?? "")")
  }

  // MARK: Authentication

  private func token(_ name: String, _ password: String, as other: String = "") -> ArraySlice<UInt8>
  {
    Array("\(other)\0\(name)\0\(password)".utf8)[...]
  }

  private func users() throws -> AccessControl {
    try AccessControl(file: "user ann secret\nread topic t\nuser bob word")
  }

  @Test func `the password decides, and nobody acts for another`() throws {
    let access = try users()
    #expect(access.user(token: token("ann", "secret")) == "ann")
    #expect(access.user(token: token("ann", "secret", as: "ann")) == "ann")
    for wrong in [
      token("ann", "secret", as: "bob"), token("ann", "secreT"), token("ann", "secretsecret"),
      token("ann", ""), token("", ""), token("eve", "\0"), token("eve", ""), [], [0], [0, 0, 0],
      token("ann", "word"), Array("ann\0secret".utf8)[...],
    ] {
      #expect(access.user(token: wrong) == nil, "\(wrong)")
    }
    #expect(AccessControl().user(token: token(AccessControl.anonymous, "\0")) == nil)
  }

  @Test func `who has to authenticate is answered nothing else before`() throws {
    var desk = Desk()
    desk.node.access = try users()
    desk.create("t")
    for api in API.all where ![17, 18].contains(api.key) {
      #expect(desk.ask(api.key, [:]) == .close, "\(api.name)")
    }
    #expect(desk.answer(18, [:])["Keys"].list.count == API.all.count)
    let old: Value = ["Error": 35, "Mechanisms": ["PLAIN"]]
    #expect(desk.ask(17, ["Mechanism": "PLAIN"], version: 0) == .farewell(old))
    guard case .farewell(let body) = desk.ask(17, ["Mechanism": "SCRAM-SHA-256"]) else {
      return #expect(Bool(false), "another mechanism")
    }
    #expect(body == ["Error": 33, "Mechanisms": ["PLAIN"]])
    #expect(desk.answer(17, ["Mechanism": "PLAIN"])["Error"] == 0)
    #expect(desk.ask(3, ["Topics": .null]) == .close)
    guard case .farewell(let body) = desk.ask(36, ["Bytes": .bytes(token("ann", "word"))]) else {
      return #expect(Bool(false), "another password")
    }
    #expect(body["Error"] == 58)
    #expect(desk.answer(36, ["Bytes": .bytes(token("ann", "secret"))]) == [:])
    #expect(desk.node.user(of: .init(1)) == "ann")
    #expect(desk.answer(3, ["Topics": .null])["Topics"].list.map { $0["Name"] } == ["t"])
    #expect(desk.answer(17, ["Mechanism": "PLAIN"])["Error"] == 34)
    #expect(desk.ask(3, ["Topics": .null], from: 2) == .close)
    desk.node.disconnected(.init(1), at: desk.now)
    #expect(desk.ask(3, ["Topics": .null]) == .close)
  }

  @Test func `without users there is no authentication`() {
    var desk = Desk()
    #expect(desk.answer(17, ["Mechanism": "PLAIN"])["Error"] == 34)
    #expect(desk.answer(36, ["Bytes": .bytes([])])["Error"] == 34)
  }

  // MARK: Requests

  /// A request, the last right that it needs, and the error without it.
  struct Case: Sendable, CustomStringConvertible {
    let key: Int16
    let body: Value
    let right: Right
    let error: Int64
    var version: Int16?
    var others: [Right] = []

    var description: String { "\(API.numbered(key)!.name): \(right)" }

    init(_ key: Int16, _ body: Value, _ right: Right, version: Int16? = nil, others: [Right] = []) {
      self.key = key
      self.body = body
      self.right = right
      self.version = version
      self.others = others
      error = Int64(right.resource.refusal.rawValue)
    }
  }

  private static let partition: Value = [
    "Topics": [
      ["Name": "t", "Partitions": [["Index": 0, "LeaderEpoch": -1, "MaxBytes": 100, "Time": -1]]]
    ], "GroupId": "g", "Generation": -1, "MaxBytes": 100, "SessionEpoch": -1,
  ]
  private static let member: Value = [
    "GroupId": "g", "SessionMs": 1_000, "ProtocolType": "consumer", "Members": [["MemberId": "m"]],
  ]
  private static let (topic, group) = (
    AccessControl.Resource.topic("t"), AccessControl.Resource.group("g")
  )
  private static let new: Value = ["Topics": [["Name": "new", "Partitions": 1, "Replication": 1]]]
  private static let results: Value = ["Results": [["Type": 2, "Name": "t", "Keys": .null]]]

  static let cases: [Case] = [
    Case(
      0,
      [
        "Acks": -1,
        "Topics": [
          [
            "Name": "t",
            "Partitions": [["Index": 0, "Records": .bytes(Batches.batch([("k", "x")])[...])]],
          ]
        ],
      ], Right(.write, topic)),
    Case(1, partition, Right(.read, topic), version: 12),
    Case(2, partition, Right(.describe, topic)),
    Case(3, ["Topics": [["Name": "t"]]], Right(.describe, topic)),
    Case(8, partition, Right(.read, group), others: [Right(.read, topic)]),
    Case(8, partition, Right(.read, topic), others: [Right(.read, group)]),
    Case(9, ["Groups": [["GroupId": "g", "Topics": .null]]], Right(.describe, group)),
    Case(
      9, ["Groups": [["GroupId": "g", "Topics": [["Name": "t", "Partitions": [0]]]]]],
      Right(.describe, topic), others: [Right(.read, group)]),
    Case(10, ["Coordinators": ["g"]], Right(.describe, group)),
    Case(11, member, Right(.read, group)), Case(12, member, Right(.read, group)),
    Case(13, member, Right(.read, group)), Case(14, member, Right(.read, group)),
    Case(15, ["Groups": ["g"]], Right(.describe, group)),
    Case(19, new, Right(.create, .topic("new")), others: [Right(.describeConfigs, .topic("new"))]),
    Case(19, new, Right(.create, .cluster), others: [Right(.describeConfigs, .topic("new"))]),
    Case(20, ["Topics": [["Name": "t"]]], Right(.delete, topic)),
    Case(20, ["Names": ["t"]], Right(.delete, topic), version: 5),
    Case(21, partition, Right(.delete, topic)),
    Case(22, ["TransactionalId": .null, "ProducerId": -1], Right(.idempotentWrite, .cluster)),
    Case(23, partition, Right(.describe, topic)),
    Case(32, results, Right(.describeConfigs, topic)),
    Case(32, ["Results": [["Type": 4, "Name": "1"]]], Right(.describeConfigs, .cluster)),
    Case(33, results, Right(.alterConfigs, topic)),
    Case(35, ["Topics": .null], Right(.describe, .cluster)),
    Case(37, ["Results": [["Name": "t", "Count": 2]]], Right(.alter, topic)),
    Case(42, ["Groups": ["g"]], Right(.delete, group)),
    Case(43, ["Topics": .null], Right(.alter, .cluster)),
    Case(44, results, Right(.alterConfigs, topic)),
    Case(45, partition, Right(.alter, .cluster)),
    Case(46, ["Topics": .null], Right(.describe, .cluster)),
    Case(47, partition, Right(.delete, group), others: [Right(.read, topic)]),
    Case(47, partition, Right(.read, topic), others: [Right(.delete, group)]),
  ]

  /// Every error of an answer.
  private func errors(_ value: Value) -> Set<Int64> {
    switch value {
    case .list(let list): list.reduce(into: []) { $0.formUnion(errors($1)) }
    case .fields(let fields):
      fields.reduce(into: []) { found, field in
        if field.name.hasSuffix("Error") { found.insert(field.value.int) }
        found.formUnion(errors(field.value))
      }
    default: []
    }
  }

  /// A cluster on which the anonymous user has these rights.
  private func desk(_ rights: [Right]) -> Desk {
    var desk = Desk()
    desk.create("t")
    desk.node.access.revokeAll(from: AccessControl.anonymous)
    for right in rights { desk.node.access.grant(right, to: AccessControl.anonymous) }
    return desk
  }

  @Test(arguments: cases)
  func `each request needs its right`(one: Case) {
    func answer(_ rights: [Right]) -> Set<Int64> {
      var desk = desk(rights)
      let outcome = desk.ask(one.key, one.body, version: one.version)
      guard case .answer(let body) = outcome else { return [] }
      return errors(body)
    }
    // A topic may be created by a right to the cluster or to it: the error is the topic's.
    let error = one.key == 19 ? 29 : one.error
    #expect(answer(one.others).contains(error))
    #expect(answer([Right(.describe, .topic("other"))] + one.others).contains(error))
    #expect(!answer([one.right] + one.others).contains(error))
  }

  @Test func `clients are told their rights when they ask`() {
    func told(_ rights: [Right]) -> [Int64] {
      var desk = desk(rights)
      let topic: Value = ["Topics": [["Name": "t"]], "TopicRights": true]
      return [
        desk.answer(3, topic)["Topics"].list[0]["Rights"].int,
        desk.answer(15, ["Groups": ["g"], "Rights": true])["Groups"].list[0]["Rights"].int,
        desk.answer(60, ["Rights": true])["Rights"].int,
      ]
    }
    let (topic, group) = (Self.topic, Self.group)
    #expect(
      told([Right(.all, topic), Right(.all, group), Right(.all, .cluster)])
        == [0xDF8, 0xD48, 0x1FA0])
    #expect(
      told([Right(.read, topic), Right(.describe, group), Right(.create, .cluster)])
        == [0x108, 0x100, 0x20])
    var quiet = desk([Right(.all, topic)])
    let untold = quiet.answer(3, ["Topics": [["Name": "t"]]])["Topics"].list[0]["Rights"]
    #expect(untold.isNull)
  }

  @Test func `refused topics are refused beside others that are answered`() {
    var desk = desk([Right(.write, .topic("t"))])
    desk.create("secret")
    let answer = desk.answer(
      0,
      [
        "Acks": -1,
        "Topics": .list(
          ["secret", "t"].map {
            [
              "Name": $0,
              "Partitions": [["Index": 0, "Records": .bytes(Batches.batch([("k", "x")])[...])]],
            ]
          }),
      ])
    let told = answer["Topics"].list.map {
      ($0["Name"].text, $0["Partitions"].list[0]["Error"].int)
    }
    #expect(told.map(\.0) == ["t", "secret"] && told.map(\.1) == [0, 29])
    #expect(desk.node.appended == 1)
  }

  @Test func `lists leave out what may not be described, and ids tell no names`() {
    var desk = desk([Right(.describe, .topic("t")), Right(.describe, .group("g"))])
    desk.create("secret")
    let id = desk.node.topics["secret"]!.id[...]
    #expect(desk.answer(3, ["Topics": .null])["Topics"].list.map { $0["Name"] } == ["t"])
    let byID = desk.answer(3, ["Topics": [["Id": .bytes(id), "Name": .null]]])["Topics"].list[0]
    #expect(byID["Error"] == 29 && byID["Name"].isNull)
    let deleted = desk.answer(20, ["Topics": [["Name": .null, "Id": .bytes(id)]]])
    #expect(deleted["Topics"].list[0]["Error"] == 29 && deleted["Topics"].list[0]["Name"].isNull)
    // Nor is one that does not exist told from one that is hidden.
    #expect(desk.answer(3, ["Topics": [["Name": "none"]]])["Topics"].list[0]["Error"] == 29)
    for name: ExactText in ["g", "h"] { desk.node.groups[name] = Group() }
    #expect(desk.answer(16, [:])["Groups"].list.map { $0["GroupId"] } == ["g"])
    desk.node.access.grant(Right(.describe, .cluster), to: AccessControl.anonymous)
    #expect(desk.answer(16, [:])["Groups"].list.count == 2)
  }

  @Test func `an idempotent producer needs some topic to write`() {
    var writer = desk([Right(.write, .topic("any"), isPrefix: true)])
    #expect(writer.answer(22, ["TransactionalId": .null, "ProducerId": -1])["Error"] == .null)
    var reader = desk([Right(.read, .topic("t"))])
    #expect(reader.answer(22, ["TransactionalId": .null, "ProducerId": -1])["Error"] == 31)
  }
}
