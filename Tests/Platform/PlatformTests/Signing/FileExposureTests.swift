// SPDX-License-Identifier: Apache-2.0
import Crypto
import Glibc
import TestSupport
import Testing

@testable import EventLoop

/// Who may read a file with a secret: the forms that systemd and Kubernetes leave behind, and those that are mistakes.
@Suite struct FileExposureTests {
  private let folder = TemporaryFolder()

  private let service: UInt32 = 61_234
  private let group: UInt32 = 61_235

  private func isExposed(_ mode: UInt32, group: UInt32, list: [FileExposure.Grant]? = nil) -> Bool {
    FileExposure(mode: mode, owner: 0, group: group, list: list)
      .isExposed(to: service, in: [self.group])
  }

  @Test func `a file is for its owner, and for a group that the process is in`() {
    #expect(!isExposed(0o600, group: 100))
    #expect(!isExposed(0o400, group: 100))
    #expect(isExposed(0o640, group: 100))
    #expect(isExposed(0o604, group: group))
    #expect(isExposed(0o644, group: 0))
    // A Kubernetes secret under fsGroup: root's, mode 0440, the pod's group.
    #expect(!isExposed(0o440, group: group))
  }

  /// systemd leaves the file with root, mode 0400, and adds the service's user to the access control list, whose mask
  /// then stands in the group's place.
  @Test func `what LoadCredential makes is private, and a list that names others is not`() {
    let own = FileExposure.Grant(isUser: true, id: service, mayRead: true)
    let rootGroup = FileExposure.Grant(isUser: false, id: nil, mayRead: false)
    #expect(!isExposed(0o440, group: 0, list: [own, rootGroup]))
    let other = FileExposure.Grant(isUser: true, id: 7, mayRead: true)
    #expect(isExposed(0o440, group: 0, list: [own, other, rootGroup]))
    #expect(!isExposed(0o400, group: 0, list: [own, other]), "the mask grants no access")
    let users = FileExposure.Grant(isUser: false, id: 100, mayRead: true)
    #expect(isExposed(0o440, group: 0, list: [own, users]))
    #expect(
      !isExposed(0o440, group: 0, list: [own, .init(isUser: false, id: group, mayRead: true)]))
    #expect(
      isExposed(0o440, group: 100, list: [own, .init(isUser: false, id: nil, mayRead: true)]))
  }

  @Test func `a list is read as Linux keeps it`() {
    let bytes: [UInt8] = [
      2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 4, 0, 0x32, 0xEF, 0, 0, 4, 0, 0, 0, 255,
      255, 255, 255, 8, 0, 4, 0, 100, 0, 0, 0, 16, 0, 4, 0, 255, 255, 255, 255, 32, 0, 0, 0, 255,
      255, 255, 255,
    ]
    #expect(
      FileExposure.grants(bytes) == [
        .init(isUser: true, id: 61_234, mayRead: true),
        .init(isUser: false, id: nil, mayRead: false),
        .init(isUser: false, id: 100, mayRead: true),
      ])
    #expect(FileExposure.grants(Array(bytes.dropLast())) == nil)
    #expect(FileExposure.grants([3, 0, 0, 0]) == nil)
  }

  @Test
  func `a file is written under a name that nobody can prepare, and its draft is gone`() throws {
    let path = folder.file("x")
    // What the draft was once called, prepared as a link to somebody's file.
    let victim = folder.file("victim")
    try File.write(victim, [1])
    #expect(symlink(victim, "\(path).\(getpid()).new") == 0)
    for mode: UInt32 in [0o600, 0o644] {
      try File.write(path, [2], mode: mode)
      #expect(try FileExposure(path).mode == mode)
    }
    #expect(try File.read(victim) == [1])
    #expect(throws: SystemError.self) { try File.write("/nonexistent/x", [1]) }
    unlink("\(path).\(getpid()).new")
  }

  @Test
  func `a list of keys or certificates may be read by anybody, and changed by its owner alone`()
    throws
  {
    let path = folder.file("list.json")
    for mode: UInt32 in [0o600, 0o644, 0o440] {
      try File.write(path, [], mode: mode)
      #expect(try File.tampering(of: path) == nil)
    }
    for mode: UInt32 in [0o664, 0o646, 0o666] {
      try File.write(path, [], mode: mode)
      #expect(try File.tampering(of: path)?.contains("chmod go-w") == true)
    }
  }

  @Test func `a pipe is read when somebody writes to it, and holds nobody up for long`() throws {
    let pipe = folder.file("pipe")
    try #require(mkfifo(pipe, 0o600) == 0)
    system("(sleep 0.2; printf abc) > '\(pipe)' &")
    #expect(try File.read(pipe) == Array("abc".utf8))
    #expect {
      _ = try SigningKey.load(pipe)
    } throws: {
      "\($0)".contains("a pipe or terminal")
    }
    #expect(throws: SystemError.self) { try File.read("/dev/zero", limit: 1 << 20) }
  }

  @Test func `a folder in which others may replace files is refused, unless it is sticky`() throws {
    let (inner, path) = (folder.file("keys"), folder.file("keys/list.json"))
    mkdir(inner, 0o700)
    try File.write(path, [])
    for (mode, isOpen): (mode_t, Bool) in [
      (0o700, false), (0o755, false), (0o1777, false), (0o777, true), (0o757, true),
    ] {
      chmod(inner, mode)
      let problem = try File.tampering(of: path)
      #expect((problem?.hasSuffix("chmod go-w \(inner)") ?? false) == isOpen, "\(mode)")
      #expect(try File.exposure(of: path) == problem)
    }
    // A volume of Kubernetes belongs to the pod's group.
    for (group, isOpen): (UInt32, Bool) in [(0, false), (7, false), (8, true)] {
      let exposure = FileExposure(mode: 0o775, owner: 5, group: group)
      #expect(exposure.isOpenFolder(in: [7]) == isOpen)
    }
  }

  @Test func `a key is read from such a file, and refused from one that the world may read`() throws
  {
    let path = folder.file("key.p8")
    // Made by this process, so the file's group is its own.
    try File.write(path, try SigningKey.generate().pem(), mode: 0o440)
    _ = try SigningKey.load(path)
    try File.write(path, try SigningKey.generate().pem(), mode: 0o444)
    #expect {
      _ = try SigningKey.load(path)
    } throws: {
      "\($0)" == "\(path) can be read by others: chmod 600 \(path)"
    }
    for mode: UInt32 in [0o620, 0o660, 0o602] {
      try File.write(path, try SigningKey.generate().pem(), mode: mode)
      #expect {
        _ = try SigningKey.load(path)
      } throws: {
        "\($0)" == "\(path) can be changed by others: chmod go-w \(path)"
      }
    }
  }
}
