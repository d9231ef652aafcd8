// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import SenderDecisions
import Settings
import TestSupport
import Testing

@testable import Sender

@Suite struct DispatchSettingsTests {
  private func dispatch(_ flags: [String]) throws -> DispatchSettings {
    try SenderSettings(SenderSettings.table.values(["--loops=1"] + flags)).dispatch
  }

  /// The simulation and the tests of Core decide by the numbers that the dispatcher has by itself.
  @Test func `without flags the dispatcher has its own defaults`() throws {
    let dispatch = try dispatch([])
    var standard = DispatchSettings()
    // How many connections a loop may have depends on the number of loops.
    standard.budget = dispatch.budget
    #expect("\(dispatch)" == "\(standard)")
  }

  @Test func `times reach the dispatcher`() throws {
    let dispatch = try dispatch(["--request-timeout=105ms"])
    #expect(dispatch.requestTimeout == 105)
  }

  @Test func `limits reach the dispatcher`() throws {
    let dispatch = try dispatch([
      "--max-connections=11", "--max-connections-total=12", "--max-in-flight=13",
      "--dedup-window=15", "--lanes=fast:3:2h:16%,slow:1", "--max-open=18", "--ordered",
      "--sandbox-broadcast-gateway=localhost:19", "--collapse-after=20s",
    ])
    #expect(dispatch.pool.maximum == 11)
    #expect(dispatch.budget.most == 12)
    #expect(dispatch.maxInFlight == 13)
    #expect(dispatch.dedupWindow == 15)
    #expect(dispatch.collapseAfter == 20_000)
    #expect(
      dispatch.lanes.rules == [
        .init("fast", weight: 3, maxAge: 7_200_000, reserved: 16),
        .init("slow", weight: 1, maxAge: 86_400_000),
      ])
    #expect(dispatch.partitionBounds.openAtMost == 18)
    #expect(dispatch.isOrdered)
    #expect(dispatch.ownBroadcasts == (production: false, sandbox: true))
  }

  @Test func `a compression that nghttp2 does not have is refused with the remedy`() throws {
    let error = #expect(throws: SettingErrors.self) {
      try dispatch(["--http2=nghttp2", "--hpack-authorization=index"])
    }
    #expect(error?.description.contains("set http2 to engine") == true)
    _ = try dispatch(["--http2=nghttp2", "--hpack-authorization=literal"])
    _ = try dispatch(["--http2=nghttp2"])
  }

  @Test func `there are no more connections than files may be open`() throws {
    var settings = try SenderSettings(SenderSettings.table.values(["--loops=2"]))
    var lowered = settings.fit(openFiles: 1_048_576)
    #expect(!lowered && settings.connectionsPerLoop == 2_048)
    lowered = settings.fit(openFiles: 256)
    #expect(lowered && settings.connectionsPerLoop == 72)
    lowered = settings.fit(openFiles: 32)
    #expect(lowered && settings.connectionsPerLoop == 1)
  }
}
