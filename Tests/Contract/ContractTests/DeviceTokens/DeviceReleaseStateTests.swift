// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

/// What is told of a device that is not any more whose it was.
@Suite struct DeviceReleaseStateTests {
  private typealias Presence = DeviceState.Presence

  private func state(_ facts: (Presence, user: String?)...) -> DeviceState {
    var state = DeviceState()
    for (presence, user) in facts { state.apply(presence, DeviceDetails(user: user)) }
    return state
  }

  private func released(
    _ state: DeviceState, by fact: Presence, received: Int64 = 1_000
  ) -> DeviceRelease? { state.release(by: fact, received: received) }

  @Test(
    arguments: [
      (nil, "ada", false), ("ada", "ada", false), ("ada", "bob", true), ("ada", nil, true),
      (nil, nil, false),
      // Equal as text, and not as bytes.
      ("\u{E9}", "e\u{301}", true),
    ] as [(String?, String?, Bool)])
  func `a registration for another user, or for none any more, is a change of owner`(
    before: String?, after: String?, isChange: Bool
  ) {
    let state = state((.registered(at: 5), before), (.registered(at: 9), after))
    let release = released(state, by: .registered(at: 9))
    #expect(release == (isChange ? DeviceRelease(.ownerChanged, at: 9) : nil))
    #expect(released(state, by: .registered(at: 5)) == nil)
  }

  @Test func `the first registration changes nothing, and one that is older than what is known`() {
    #expect(released(state((.registered(at: 5), "ada")), by: .registered(at: 5)) == nil)
    let late = state((.registered(at: 9), "ada"), (.registered(at: 5), "bob"))
    #expect(released(late, by: .registered(at: 5)) == nil)
    #expect(released(late, by: .registered(at: 9)) == nil)
  }

  @Test func `a removal is told, and a registration after it, whoever's`() {
    let gone = state((.registered(at: 5), "ada"), (.removed(at: 7), nil))
    #expect(released(gone, by: .removed(at: 7)) == DeviceRelease(.removed, at: 7))
    for user in ["ada", "bob", nil] as [String?] {
      let back = state(
        (.registered(at: 5), "ada"), (.removed(at: 7), nil), (.registered(at: 9), user))
      #expect(released(back, by: .removed(at: 7)) == nil, "what came later is told")
      #expect(released(back, by: .registered(at: 9)) == DeviceRelease(.ownerChanged, at: 9))
    }
  }

  @Test func `a change is told also when the new owner has registered again since`() {
    let state = state(
      (.registered(at: 5), "ada"), (.registered(at: 9), "bob"), (.registered(at: 11), "bob"))
    #expect(released(state, by: .registered(at: 9)) == DeviceRelease(.ownerChanged, at: 9))
    #expect(released(state, by: .registered(at: 11)) == nil)
  }

  @Test func `nothing is told of a later time than the record's reception`() {
    let state = state((.registered(at: 5), "ada"), (.removed(at: 70), nil))
    #expect(released(state, by: .removed(at: 70), received: 60)?.at == 60)
  }

  @Test func `of a token that is invalid nothing has to be told`() {
    var state = state((.registered(at: 5), "ada"))
    state.apply(.init(since: 6, aliveFrom: 7, reason: "Unregistered", recordedAt: 6))
    state.apply(.removed(at: 8))
    #expect(state.word == .invalid)
    #expect(released(state, by: .removed(at: 8)) == nil)
  }

  @Test func `the mark of a removal is no word of APNs, and goes with the next registration`() {
    var state = state((.registered(at: 5), "ada"), (.removed(at: 7), nil))
    state.apply(DeviceState.Mark(removedAt: 7))
    #expect(state.word == .removed && !state.isInvalid && !state.isMarkObsolete)
    #expect(state.history.changes.map(\.change) == [.registered, .removed])
    state.apply(.registered(at: 7), DeviceDetails(user: "bob"))
    #expect(state.isMarkObsolete && state.word == .registered)
    #expect(state.needs(.init(since: 8, aliveFrom: 9, reason: "Unregistered", recordedAt: 8)))
  }

  @Test func `a history has its changes of owner, and is the same when it is read back`() {
    let state = state(
      (.registered(at: 1), "ada"), (.registered(at: 2), "bob"), (.registered(at: 3), "bob"),
      (.removed(at: 4), nil), (.registered(at: 5), "bob"), (.registered(at: 6), nil))
    let changes = state.history.changes.map(\.change)
    #expect(changes == [.registered, .ownerChanged, .removed, .registered, .ownerChanged])
    #expect(DeviceHistory(text: state.history.text) == state.history)
    let stored = DeviceState(
      presence: .registered(at: 6), details: .none, history: DeviceHistory(text: state.history.text)
    )
    #expect(released(stored, by: .registered(at: 6)) == DeviceRelease(.ownerChanged, at: 6))
  }
}
