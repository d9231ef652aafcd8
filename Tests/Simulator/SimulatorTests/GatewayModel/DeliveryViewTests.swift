// SPDX-License-Identifier: Apache-2.0
import Contract
import GatewayModel
import Testing

/// What is left on the screens, and why the rest is not.
@Suite struct DeliveryViewTests {
  private static let hour: Int64 = 3_600_000

  private func delivery(
    _ number: UInt64, at time: Int64, _ type: PushType? = .alert, collapse: String? = nil,
    overBudget: BudgetKind? = nil
  ) -> Delivery {
    Delivery(
      id: SpelledID(NotificationID(high: 0, low: number), isUpper: false), token: [1], app: [1],
      collapseID: collapse.map { Array($0.utf8) }, type: type, priority: 10, receivedAt: time,
      deliveredAt: time, body: nil, overBudget: overBudget)
  }

  private func reasons(
    _ deliveries: [Delivery], lifetime: Int64 = 8 * hour, _ facts: [BodyFacts] = []
  ) -> [String?] {
    DeliveryView.lines(deliveries, activityLifetime: lifetime) { delivery in
      let place = Int(delivery.id.id.low)
      return facts.indices.contains(place) ? facts[place] : BodyFacts()
    }.map { $0.hidden?.name }
  }

  @Test func `a repeat takes nobody's place on the screen`() {
    let shown = reasons([
      delivery(0, at: 1, collapse: "a"), delivery(0, at: 2, collapse: "a"),
      delivery(1, at: 3, collapse: "b"), delivery(2, at: 4, collapse: "b"),
    ])
    #expect(shown == [nil, "duplicate", "replaced", nil])
  }

  @Test func `nor does one that the device dropped`() {
    let shown = reasons([
      delivery(0, at: 1, .liveactivity, collapse: "a"),
      delivery(1, at: 2, .liveactivity, collapse: "a", overBudget: .liveActivity),
    ])
    #expect(shown == [nil, "live-activity-budget"])
  }

  @Test func `nor does one that shows nothing`() {
    let shown = reasons(
      [
        delivery(0, at: 1, collapse: "a"), delivery(1, at: 2, .background, collapse: "a"),
        delivery(2, at: 3, collapse: "a"), delivery(3, at: 4, .liveactivity, collapse: "b"),
        delivery(4, at: 5, .liveactivity, collapse: "b"),
      ],
      [
        BodyFacts(), BodyFacts(), BodyFacts(isSilent: true),
        BodyFacts(event: .update, timestamp: 100), BodyFacts(event: .update, timestamp: 90),
      ])
    #expect(shown == [nil, "shows-nothing", "shows-nothing", nil, "older-state"])
  }

  @Test(arguments: [
    PushType.background, .location, .complication, .fileprovider, .mdm, .widgets, .controls,
  ])
  func `types for apps show nothing`(type: PushType) {
    #expect(reasons([delivery(0, at: 1, type)]) == ["shows-nothing"])
  }

  @Test func `an alert that only wakes the app shows nothing`() {
    #expect(
      reasons([delivery(0, at: 1), delivery(1, at: 2)], [BodyFacts(isSilent: true)])
        == ["shows-nothing", nil])
  }

  @Test func `a Live Activity ends after eight hours`() {
    let times = [0, 1, 8 * Self.hour - 1, 8 * Self.hour, 20 * Self.hour]
    let updates = times.enumerated().map { delivery(UInt64($0), at: $1, .liveactivity) }
    #expect(reasons(updates) == [nil, nil, nil, "activity-ended", "activity-ended"])
    #expect(reasons(updates, lifetime: 0) == [nil, nil, nil, nil, nil])
  }

  @Test func `a Live Activity ends with a push, and shows no older state`() {
    let updates = (0..<5).map { delivery(UInt64($0), at: Int64($0), .liveactivity) }
    let facts = [
      BodyFacts(event: .update, timestamp: 100), BodyFacts(event: .update, timestamp: 90),
      BodyFacts(event: .update, timestamp: 110), BodyFacts(event: .end, timestamp: 120),
      BodyFacts(event: .update, timestamp: 130),
    ]
    #expect(reasons(updates, facts) == [nil, "older-state", nil, nil, "activity-ended"])
  }

  @Test func `each start begins another Live Activity`() {
    let pushes = (0..<4).map { delivery(UInt64($0), at: Int64($0) * 9 * Self.hour, .liveactivity) }
    let start = BodyFacts(event: .start, timestamp: 1)
    #expect(reasons(pushes, [start, start, start]) == [nil, nil, nil, "activity-ended"])
  }
}
