// SPDX-License-Identifier: Apache-2.0
import EventLoop
import GatewaySimulator
import HTTP2
import Testing

/// The sessions of a loop share memory: what one writes leaves the others' as it is.
@Suite struct SessionMemoryTests {
  @Test func `answers of two sessions that are written piece by piece in turn arrive whole`() throws
  {
    let pool = ServerRequestPool()
    let pairs = (0..<2).map { _ in SessionPair(.engine, pool: pool) }
    let bodies = ["a", "b"].map { String(repeating: $0, count: 40_000) }
    for place in pairs.indices {
      // The server's limit of streams.
      try pairs[place].settle()
      for _ in 0..<2 {
        let exchange = pairs[place].exchange(body: "{}", capacity: 60_000)
        try #require(pairs[place].submit(exchange))
      }
      try pairs[place].settle()
    }
    for place in pairs.indices {
      for _ in 0..<2 { pairs[place].answer("400", body: bodies[place]) }
    }
    var hasMore = true
    while hasMore {
      hasMore = false
      for pair in pairs { hasMore = try pair.carryToClient(upTo: 1) || hasMore }
    }
    for place in pairs.indices {
      try pairs[place].settle()
      #expect(pairs[place].completed.map { $0.answer } == [bodies[place], bodies[place]])
    }
  }

  @Test func `sessions come and go while others of their loop go on`() throws {
    let pool = ServerRequestPool()
    let lasting = SessionPair(.engine, pool: pool)
    for number in 0..<50 {
      do {
        let passing = SessionPair(.engine, pool: pool)
        _ = try #require(passing.submit())
        try passing.settle()
        passing.answer("403", body: "passing")
        try passing.settle()
        #expect(passing.completed.first?.answer == "passing")
      }
      _ = try #require(lasting.submit())
      try lasting.settle()
      lasting.answer("403", body: "lasting \(number)")
      try lasting.settle()
      #expect(lasting.completed.last?.answer == "lasting \(number)")
    }
  }
}
