// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import TestSupport
import Testing

@testable import ServiceKit

@Suite struct LineSourceTests {
  private func lines(_ content: [UInt8]) throws -> [[UInt8]] {
    let folder = TemporaryFolder()
    try File.write(folder.file("in"), content)
    let source = try LineSource(folder.file("in"))
    #expect(source.totalBytes == content.count)
    var lines: [[UInt8]] = []
    while let line = try source.next() { lines.append(Array(line)) }
    #expect(source.readBytes == content.count)
    return lines
  }

  @Test
  func `lines end with a newline, with or without a carriage return, or with the file`() throws {
    let found = try lines(Array("one\ntwo\r\n\nfour".utf8))
    #expect(found.map { String(decoding: $0, as: UTF8.self) } == ["one", "two", "", "four"])
  }

  @Test func `a byte order mark at the beginning of a file is no part of its first line`() throws {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    #expect(try lines(mark + [97, 13, 10] + mark + [98]) == [[97], mark + [98]])
    #expect(try lines(mark) == [[]])
    #expect(try lines(mark + [13, 10]) == [[]])
    #expect(try lines([0xEF, 0xBB]) == [[0xEF, 0xBB]])
  }

  @Test func `an empty file has no line`() throws { #expect(try lines([]).isEmpty) }

  @Test func `a compressed file is no lines`() {
    let failure = #expect(throws: ServiceFailure.self) { try lines([0x1F, 0x8B, 8, 0, 10, 1]) }
    // Some commands read their file twice, and take no `-`.
    #expect(failure?.description == "the input is compressed: give what zcat makes of it")
  }

  @Test func `lines longer than the buffer come whole`() throws {
    let long = [UInt8](repeating: 97, count: 1_000_000)
    #expect(try lines(long + [10] + [98, 10]) == [long, [98]])
  }

  @Test func `a line without end does not fill the memory`() throws {
    let pieces = try lines([UInt8](repeating: 97, count: 10 << 20))
    #expect(pieces.count > 1)
    #expect(pieces.allSatisfy { $0.count <= LineSource.longestLine + 1 << 18 })
  }

  @Test func `what nobody has typed yet is not waited for when nothing more is wanted`() throws {
    let folder = TemporaryFolder()
    let path = folder.file("pipe")
    try #require(mkfifo(path, 0o600) == 0)
    let writer = open(path, O_RDWR)
    defer { close(writer) }
    try #require(write(writer, "one\ntw", 6) == 6)
    var isStopping = false
    let source = try LineSource(path) { isStopping }
    #expect(try source.next().map { Array($0) } == Array("one".utf8))
    isStopping = true
    #expect(try source.next() == nil, "half a line is none")
  }

  @Test func `an error about a missing file names it`() {
    let failure = #expect(throws: ServiceFailure.self) { _ = try LineSource("/nowhere/requests") }
    #expect(failure?.description.contains("/nowhere/requests") == true)
  }
}
