// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import Store
import TestSupport
import Testing

@testable import Feedback

/// A PostgreSQL server that dies while the service works.
@Suite(.serialized) struct FeedbackFailoverTests {
  private typealias Fixture = FeedbackFixture

  @Test func `a server that dies and comes back loses no registration and no invalid token`() throws
  {
    let server = try PostgresServer()
    let fixture = try Fixture()
    let location = try server.newDatabase("failover")
    let services = [try fixture.start(database: location), try fixture.start(database: location)]
    defer { for service in services { service.stop() } }
    func count(_ counter: String) -> Int { services.reduce(0) { $0 + $1.counter(counter) } }
    let devices = (1...3_000).map { Fixture.device($0) }
    // Both take part before the first crash.
    try fixture.send([Fixture.feedback(Fixture.device(4_000))])
    #expect(eventually { invalidCount(location) == 1 })
    for round in 0..<3 {
      let part = devices[round * 1_000..<(round + 1) * 1_000]
      try fixture.send(part.map { DeviceRecord(device: $0, event: .registered(at: 500)) })
      // Within whatever the services are doing now, and with more to do while there is no server.
      let retries = count("database_retries")
      try server.kill()
      try fixture.send(part.map { Fixture.feedback($0) })
      #expect(eventually { count("database_retries") > retries })
      try server.start()
    }
    try expectEventually {
      try fixture.committed(fixture.names.feedback) == 3_001
        && fixture.committed(fixture.names.devices) == 3_000
    }
    let after = try TokenStoreReader(location)
    #expect(try eventually { try after.invalidCount() == 3_001 })
    #expect(try after.deviceCount() == 3_001)
    #expect(Set(try fixture.published(keys: 3_001).keys).isSuperset(of: devices.map(\.description)))
    #expect(services.allSatisfy { $0.failure == nil })
  }

  @Test func `a service waits for a server that is not there yet`() throws {
    let server = try PostgresServer()
    let location = try server.newDatabase("late")
    try server.kill()
    let fixture = try Fixture()
    let service = try fixture.start(database: location)
    defer { service.stop() }
    try fixture.send([Fixture.feedback(Fixture.device(1))])
    try server.start()
    #expect(eventually { invalidCount(location) == 1 })
    #expect(service.failure == nil)
  }

  /// nil while there is no server, or no schema.
  private func invalidCount(_ location: String) -> Int? {
    try? TokenStoreReader(location).invalidCount()
  }
}
