// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import Glibc
import Records
import TestSupport
import Testing

/// The keys and certificates that `martlet keys generate` makes, with its names.
struct GeneratedKeys {
  let path: String

  static let team = "MARTLETDEV"
  static let key = "MARTLETKEY"

  /// Makes them in a new folder.
  init(in folder: TemporaryFolder, _ name: String = "keys") throws {
    path = folder.file(name)
    let made = try BuiltProgram.run(
      ChildProcess.sibling("martlet"), ["keys", "generate", path, "--key-id", Self.key], in: folder)
    try #require(made.status == 0, "keys generate printed: \(made.output)")
  }

  var roots: String { path + "/root.pem" }
  var certificate: String { path + "/gateway.pem" }
  var certificateKey: String { path + "/gateway-key.pem" }
  var credentials: String { path + "/credentials.json" }
  var gatewayKeys: String { path + "/gateway-keys.json" }
  var signingKey: String { "\(path)/AuthKey_\(Self.key).p8" }

  /// A provider token of this moment.
  func providerToken() throws -> String {
    try ProviderTokenMinter(
      key: SigningKey.load(signingKey), teamID: Self.team, keyID: Self.key
    ).mint(issuedAt: WallClock.milliseconds() / 1_000)
  }
}

/// `apns-simulator` on free ports, with keys of its own.
final class RunningSimulator {
  static let app = "com.example.app"

  let keys: GeneratedKeys
  /// Where pushes go, on 127.0.0.1.
  let port: UInt16
  private let admin: String
  private let folder: TemporaryFolder
  private let program: BuiltProgram

  /// - Parameters:
  ///   - tokens: What `--tokens` declares; JSON.
  init(in folder: TemporaryFolder, _ flags: [String] = [], tokens: JSONValue = []) throws {
    self.folder = folder
    keys = try GeneratedKeys(in: folder)
    try File.write(folder.file("tokens.json"), tokens.text)
    let file = folder.file("simulator.address")
    program = try BuiltProgram.start(
      "apns-simulator",
      [
        "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--certificate", keys.certificate,
        "--certificate-key", keys.certificateKey, "--keys", keys.gatewayKeys,
        "--tokens", folder.file("tokens.json"), "--address-file", file,
      ] + flags, in: folder)
    let line = try #require(program.announcement(in: file), "it printed: \(program.output)")
    let addresses = try JSONDocument(line).root
    admin = try #require(addresses["admin"]?.string)
    let port = addresses["listening"]?.string?.split(separator: ":").last.flatMap { UInt16($0) }
    self.port = try #require(port)
  }

  func stop() { #expect(program.stop() == 0, "the simulator printed: \(program.output)") }

  /// Its counters.
  func counters() throws -> JSONValue { try JSONDocument(ask("/counters")).root }

  /// Everything it was sent, in the order of arrival.
  func requests() throws -> [JSONValue] {
    try ask("/requests").split(separator: "\n").map { try JSONDocument(String($0)).root }
  }

  private func ask(_ path: String) throws -> String {
    let answer = try BuiltProgram.run(
      SystemProgram.path("curl"), ["-sS", "--fail", "--noproxy", "*", "http://\(admin)\(path)"],
      in: folder)
    try #require(answer.status == 0, "curl printed: \(answer.output)")
    return answer.output
  }
}

/// Device tokens for tests.
enum DeviceTokens {
  static func numbered(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 64 - digits.count) + digits
  }

  static let unregistered = String(repeating: "cd", count: 32)
  static let bad = String(repeating: "ef", count: 32)
  /// When `unregistered` became that, in milliseconds.
  static let unregisteredSince: Int64 = 1_700_000_000_123

  /// For the simulator's `--tokens`.
  static var declared: JSONValue {
    [
      [
        "token": .string(unregistered), "state": "unregistered",
        "timestamp": .integer(unregisteredSince), "topic": .string(RunningSimulator.app),
      ], ["token": .string(bad), "state": "bad"],
    ]
  }
}
