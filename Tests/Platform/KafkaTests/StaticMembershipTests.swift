// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Kafka
import TestSupport
import Testing

/// Members with a name (`group.instance.id`).
@Suite(.serialized) struct StaticMembershipTests {
  @Test func `a member with a name gets its partitions back and the others notice nothing`() throws
  {
    let (fixture, topic) = try KafkaFixture.numbers(partitions: 4)
    let stays = try GroupMember(fixture, group: "readers", topic: topic, instanceID: "one")
    var leaves: GroupMember? = try GroupMember(
      fixture, group: "readers", topic: topic, instanceID: "two")
    try expectEventually {
      try stays.serve()
      try leaves?.serve()
      return stays.owned.count == 2 && leaves?.owned.count == 2
    }
    let before = Set(leaves?.owned ?? [])
    let revocations = stays.revocations
    leaves?.close()
    leaves = nil
    let again = try GroupMember(fixture, group: "readers", topic: topic, instanceID: "two")
    try expectEventually {
      try stays.serve()
      try again.serve()
      return again.owned.count == 2
    }
    #expect(Set(again.owned) == before)
    #expect(stays.revocations == revocations)
    again.close()
    stays.close()
  }

  @Test func `a second process with the same name ends the first`() throws {
    let (fixture, topic) = try KafkaFixture.numbers(partitions: 2)
    let first = try GroupMember(fixture, group: "readers", topic: topic, instanceID: "one")
    try expectEventually {
      try first.serve()
      return first.owned.count == 2
    }
    let second = try GroupMember(fixture, group: "readers", topic: topic, instanceID: "one")
    try expectEventually {
      try first.serve()
      try second.serve()
      return first.errors.contains(where: \.isFatal)
    }
    first.close()
    second.close()
  }
}
