// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

/// Who may have a pace beside those that have one.
@Suite struct PaceRoomTests {
  private func problem(_ room: PaceRoom, _ subject: PaceSubject) -> String? {
    do throws(PaceProblem) {
      try room.check(subject)
      return nil
    } catch {
      return "\(error)"
    }
  }

  private func group(_ app: Int, _ number: Int) -> PaceSubject {
    .group("app.a\(app)", .production, "g\(number)")
  }

  @Test func `an app has its quota of groups, and one that is cleared makes room`() {
    var room = PaceRoom((0..<PaceRoom.groupsOfAppAtMost).map { group(1, $0) })
    #expect(problem(room, group(1, -1)) == "tooManyOfApp")
    #expect(!room.hasRoom(forGroupOf: "app.a1") && room.hasRoom(forGroupOf: "app.a2"))
    #expect(problem(room, group(2, 0)) == nil)
    #expect(problem(room, .app("app.a1", .production)) == nil)
    room.note(group(1, 0), hasPace: false)
    #expect(problem(room, group(1, -1)) == nil && room.hasRoom(forGroupOf: "app.a1"))
  }

  @Test func `all apps together leave room for what operators set, and lanes need none`() {
    let apps = PaceRoom.groupsAtMost / PaceRoom.groupsOfAppAtMost + 1
    var room = PaceRoom()
    var count = 0
    for app in 0..<apps {
      for number in 0..<PaceRoom.groupsOfAppAtMost where count < PaceRoom.groupsAtMost {
        room.note(group(app, number), hasPace: true)
        count += 1
      }
    }
    #expect(problem(room, group(apps, 0)) == "tooMany")
    let device = PaceSubject.device("app.d", .production, .background)
    #expect(problem(room, device) == nil)
    for number in count..<PaceRoom.subjectsAtMost {
      room.note(.app("app.b\(number)", .production), hasPace: true)
    }
    #expect(problem(room, device) == "tooMany")
    #expect(problem(room, .lane("bulk")) == nil)
    let before = room
    room.note(.lane("bulk"), hasPace: true)
    #expect(room == before)
  }

  @Test func `names that are equal text and other bytes are two apps`() {
    let (one, other) = ("app.caf\u{E9}", "app.cafe\u{301}")
    let room = PaceRoom((0..<PaceRoom.groupsOfAppAtMost).map { .group(one, .production, "\($0)") })
    #expect(!room.hasRoom(forGroupOf: one) && room.hasRoom(forGroupOf: other))
  }
}
