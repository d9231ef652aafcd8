// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import ServiceKit
import TestSupport
import Testing

/// What a process tells systemd, on a socket like systemd's.
@Suite struct SystemdTests {
  @Test
  func
    `a service without Kafka is started all the same, says why it is not ready, and its lines have priorities`()
    throws
  {
    let folder = TemporaryFolder()
    let path = folder.file("notify")
    let socket = try listening(on: path)
    defer { close(socket) }
    // sh looks which stream its output is, as systemd would say it.
    let command =
      "JOURNAL_STREAM=$(stat -L -c %d:%i /dev/fd/2) exec \(ChildProcess.sibling("martlet-ingest"))"
      + " --kafka 127.0.0.1:1 --stop-timeout 2s"
    let program = try BuiltProgram.start(
      path: "/usr/bin/env", ["NOTIFY_SOCKET=\(path)", "sh", "-c", command], in: folder)
    var heard: [String] = []
    func hears(_ wanted: (String) -> Bool) -> Bool {
      eventually {
        while let message = received(socket) { heard.append(message) }
        return heard.contains(where: wanted)
      }
    }
    #expect(hears { $0 == "READY=1" }, "\(program.output)")
    #expect(hears { $0.hasPrefix("STATUS=not ready: ") }, "\(heard)")
    #expect(
      program.prints("<6>info martlet-ingest \(ServiceKitLog.statusPages.rawValue)"))
    _ = program.stop()
    let lines = program.output.split(separator: "\n")
    #expect(lines.allSatisfy { $0.prefixMatch(of: #/<[3467]>(debug|info|warning|error) /#) != nil })
  }

  @Test
  func `a process says that it runs, how it stands, that it is alive, and that it stops`() throws {
    let folder = TemporaryFolder()
    let path = folder.file("notify")
    let socket = try listening(on: path)
    defer { close(socket) }
    let program = try BuiltProgram.start(
      path: "/usr/bin/env",
      ["NOTIFY_SOCKET=\(path)", "WATCHDOG_USEC=300000", ChildProcess.sibling("martlet"), "broker"],
      in: folder)
    var heard: [String] = []
    func hears(_ wanted: String, times: Int = 1) -> Bool {
      eventually {
        while let message = received(socket) { heard.append(message) }
        return heard.count { $0 == wanted } >= times
      }
    }
    #expect(hears("READY=1"), "\(program.output)")
    #expect(hears("STATUS=ready"))
    #expect(hears("WATCHDOG=1", times: 3))
    #expect(!heard.contains("STOPPING=1"))
    program.signal(SIGTERM)
    #expect(hears("STOPPING=1"))
    #expect(hears("STATUS=not ready: is stopping"))
    #expect(program.wait() == 0, "\(program.output)")
    #expect(heard.count { $0 == "READY=1" } == 1)
  }

  private func listening(on path: String) throws -> Int32 {
    let socket = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    try #require(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path))
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(status == 0)
    return socket
  }

  private func received(_ socket: Int32) -> String? {
    var buffer = [UInt8](repeating: 0, count: 256)
    let count = recv(socket, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    return count >= 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
  }
}
