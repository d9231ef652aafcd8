// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Testing

/// What systemd would hear.
@Suite struct SystemdNotifierTests {
  private func notifier(_ environment: [String: String]) -> SystemdNotifier {
    SystemdNotifier { environment[$0] }
  }

  /// A datagram socket with this name; `@` begins an abstract one.
  private func listen(_ name: String) throws -> Int32 {
    let socket = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    try #require(socket >= 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(name.utf8)
    if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let length = socklen_t(MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + bytes.count)
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, length) }
    }
    try #require(status == 0)
    return socket
  }

  private func received(_ socket: Int32) -> String? {
    var buffer = [UInt8](repeating: 0, count: 256)
    let count = recv(socket, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    return count >= 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
  }

  @Test(arguments: [true, false])
  func `each message is one datagram`(isAbstract: Bool) throws {
    let unique = "martlet-notify-\(getpid())-\(UInt32.random(in: 0 ... .max))"
    let name = isAbstract ? "@\(unique)" : "/tmp/\(unique)"
    let socket = try listen(name)
    defer {
      close(socket)
      if !isAbstract { unlink(name) }
    }
    let notifier = notifier(["NOTIFY_SOCKET": name])
    notifier.started()
    notifier.status("not ready: Kafka is away\nREADY=1")
    notifier.watchdog()
    notifier.stopping()
    #expect(received(socket) == "READY=1")
    #expect(received(socket) == "STATUS=not ready: Kafka is awayREADY=1")
    #expect(received(socket) == "WATCHDOG=1")
    #expect(received(socket) == "STOPPING=1")
    #expect(received(socket) == nil)
  }

  @Test func `without a socket that can be written nothing happens`() {
    #expect(!notifier([:]).send("READY=1"))
    #expect(!notifier(["NOTIFY_SOCKET": ""]).send("READY=1"))
    #expect(!notifier(["NOTIFY_SOCKET": "vsock:2:1"]).send("READY=1"))
    #expect(!notifier(["NOTIFY_SOCKET": "/nowhere/socket"]).send("READY=1"))
    let long = "/" + String(repeating: "x", count: 200)
    #expect(!notifier(["NOTIFY_SOCKET": long]).send("READY=1"))
  }

  @Test
  func `the journal is recognized by device and inode, and no other descriptor is taken for it`()
    throws
  {
    let (mine, other) = (dup(STDIN_FILENO), try listen("@martlet-journal-\(getpid())"))
    defer {
      close(mine)
      close(other)
    }
    var status = stat()
    try #require(fstat(other, &status) == 0)
    let name = "\(status.st_dev):\(status.st_ino)"
    #expect(JournalStream.isJournal(other, named: name))
    #expect(!JournalStream.isJournal(mine, named: name))
    #expect(!JournalStream.isJournal(other, named: nil))
    #expect(!JournalStream.isJournal(other, named: ""))
    #expect(!JournalStream.isJournal(-1, named: name))
  }

  @Test func `the watchdog is this process's own, and needs a socket`() {
    let socket = ["NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "30000000"]
    func with(_ pid: String) -> [String: String] { socket.merging(["WATCHDOG_PID": pid]) { $1 } }
    #expect(notifier(socket).watchdogMilliseconds == 30_000)
    #expect(notifier(with("\(getpid())")).watchdogMilliseconds == 30_000)
    #expect(notifier(with("1")).watchdogMilliseconds == nil)
    #expect(notifier(["WATCHDOG_USEC": "30000000"]).watchdogMilliseconds == nil)
    #expect(notifier(["NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "x"]).watchdogMilliseconds == nil)
  }
}
