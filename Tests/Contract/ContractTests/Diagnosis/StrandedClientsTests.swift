// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@Suite struct StrandedClientsTests {
  private let patience = StrandedClients.patience

  @Test func `a client without a broker is given up when it had time to find one`() {
    var clients = StrandedClients()
    for now in stride(from: 1_000, to: 1_000 + patience, by: 10_000) {
      #expect(clients.saw(["a"], now: now) == nil)
    }
    #expect(clients.saw(["a"], now: 1_000 + patience) == "a")
  }

  @Test func `one that found a broker meanwhile has all of the time again`() {
    var clients = StrandedClients()
    _ = clients.saw(["a"], now: 0)
    _ = clients.saw([], now: 10_000)
    _ = clients.saw(["a"], now: 20_000)
    #expect(clients.saw(["a"], now: 19_999 + patience) == nil)
    #expect(clients.saw(["a"], now: 20_000 + patience) == "a")
  }

  @Test func `clients take turns: none of them is stranded`() {
    var clients = StrandedClients()
    for turn in 0..<100 as Range<UInt64> {
      #expect(clients.saw([turn.isMultiple(of: 2) ? "a" : "b"], now: turn * 10_000) == nil)
    }
  }

  /// Then no new process would find one, either.
  @Test func `while nobody reaches the cluster nobody is stranded`() {
    var clients = StrandedClients()
    _ = clients.saw(["a"], now: 0)
    #expect(clients.saw(nil, now: 50_000) == nil)
    #expect(clients.saw(["a"], now: patience) == nil)
    #expect(clients.saw(["a"], now: 2 * patience) == "a")
  }
}
