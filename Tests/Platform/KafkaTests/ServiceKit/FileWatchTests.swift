// SPDX-License-Identifier: Apache-2.0
import EventLoop
import ServiceKit
import Telemetry
import TestSupport
import Testing

/// A watch that expectations can ask.
private final class Watched {
  var files: FileWatch

  init(_ files: FileWatch) { self.files = files }

  func haveChanged(_ now: UInt64) -> Bool { files.haveChanged(now: now) }
}

/// Files that are read again when they change.
@Suite struct FileWatchTests {
  private let folder = TemporaryFolder()
  private var paths: [String] { ["a", "b"].map(folder.file) }

  private func write(_ name: String, _ text: String) throws {
    try File.write(folder.file(name), Array(text.utf8))
  }

  @Test
  func
    `a change counts once the files stand still, so that two that belong together are read together`()
    throws
  {
    try write("a", "1")
    try write("b", "1")
    let watch = Watched(FileWatch(paths))
    #expect(!watch.haveChanged(0))
    try write("a", "2")
    #expect(!watch.haveChanged(499))
    #expect(!watch.haveChanged(500))
    try write("b", "2")
    #expect(!watch.haveChanged(1_000))
    #expect(watch.haveChanged(1_500))
    watch.files.begin()
    watch.files.follow(paths)
    #expect(!watch.haveChanged(2_000))
  }

  @Test func `many files are looked at less often: at 5,000 of them in a second`() throws {
    try write("a", "1")
    let watch = Watched(FileWatch(paths + (0..<9_998).map { folder.file("\($0)") }))
    #expect(!watch.haveChanged(0))
    try write("a", "2")
    for now in [500, 1_999, 2_000, 2_500, 3_999] as [UInt64] { #expect(!watch.haveChanged(now)) }
    #expect(watch.haveChanged(4_000))
  }

  @Test func `files that never stand still are read all the same`() throws {
    try write("a", "0")
    let watch = Watched(FileWatch(paths))
    var looks: UInt64 = 0
    repeat {
      looks += 1
      try write("a", "\(looks)")
    } while !watch.haveChanged(looks * 500) && looks < 100
    #expect(looks == 10)
  }

  @Test func `what changes while the files are read is news afterwards`() throws {
    try write("a", "1")
    let watch = Watched(FileWatch(paths))
    watch.files.begin()
    try write("a", "2")
    watch.files.follow(paths)
    #expect(!watch.haveChanged(0))
    #expect(watch.haveChanged(500))
  }

  @Test func `a file that is gone is no change, one that comes back is`() throws {
    try write("a", "1")
    let watch = Watched(FileWatch(paths))
    try File.remove(folder.file("a"))
    #expect(!watch.haveChanged(0) && !watch.haveChanged(500))
    // Of another size: it may get the old one's number, within one tick of the file system's clock.
    try write("a", "12")
    #expect(!watch.haveChanged(1_000))
    #expect(watch.haveChanged(1_500))
  }

  @Test
  func `files that could not be used are tried again, since they may name one that was missing`() {
    let watch = Watched(FileWatch(paths))
    watch.files.begin()
    watch.files.retry(now: 0)
    #expect(!watch.haveChanged(9_500))
    #expect(watch.haveChanged(10_000))
    watch.files.begin()
    #expect(!watch.haveChanged(30_000))
  }

  @Test func `a file that is in use is not taken anew because another one is tried again`() throws {
    let watch = Watched(FileWatch(paths))
    let status = ReloadStatus(
      Metric("m", .gauge, labels: ["file", "app"], "Help."), ["keys", "certificates"])
    func due(isAsked: Bool = false) -> [String] {
      ["keys", "certificates"].filter { status.isDue($0, watch.files, isAsked: isAsked) }
    }
    watch.files.begin()
    #expect(due() == ["keys", "certificates"])
    _ = status.refused("keys", "invalid", now: 0, isAsked: false)
    watch.files.retry(now: 0)
    #expect(watch.haveChanged(10_000))
    watch.files.begin()
    #expect(due() == ["keys"] && due(isAsked: true) == ["keys", "certificates"])
    watch.files.retry(now: 10_000)
    try write("a", "1")
    #expect(!watch.haveChanged(10_500))
    #expect(watch.haveChanged(11_000))
    watch.files.begin()
    #expect(due() == ["keys", "certificates"])
  }
}

@Suite struct ReloadStatusTests {
  private static let metric = Metric("m", .gauge, labels: ["file", "app"], "Help.")

  private func samples(_ status: ReloadStatus) -> [String] {
    status.samples.map { "\($0.labels.joined(separator: "/"))=\($0.value)" }
  }

  @Test func `a refused file has a series for each app, and none when it is accepted`() {
    let status = ReloadStatus(Self.metric, ["keys", "certificates"])
    #expect(status.samples.map(\.labels) == [["certificates", ""], ["keys", ""]])
    _ = status.refused("keys", "a, b", taking: ["a", "b"], now: 0, isAsked: false)
    #expect(
      status.samples.map(\.labels) == [["certificates", ""], ["keys", "a"], ["keys", "b"]])
    _ = status.refused("keys", "invalid", now: 0, isAsked: false)
    #expect(status.samples.map(\.labels) == [["certificates", ""], ["keys", ""]])
    #expect(samples(status)[0] != samples(status)[1].replacing("keys", with: "certificates"))
    status.accepted("keys")
    #expect(samples(status)[0] == samples(status)[1].replacing("keys", with: "certificates"))
  }

  @Test func `a problem is said when it is new, when somebody asks, and once an hour`() {
    let status = ReloadStatus(Self.metric, ["keys"])
    func isSaid(_ words: String, at seconds: UInt64, isAsked: Bool = false) -> Bool {
      status.refused("keys", words, now: seconds * 1_000, isAsked: isAsked)
    }
    #expect(isSaid("x", at: 0) && !isSaid("x", at: 10) && isSaid("y", at: 20))
    #expect(isSaid("y", at: 30, isAsked: true) && !isSaid("y", at: 3_600))
    #expect(isSaid("y", at: 3_630))
    status.accepted("keys")
    #expect(isSaid("y", at: 3_640))
  }
}
