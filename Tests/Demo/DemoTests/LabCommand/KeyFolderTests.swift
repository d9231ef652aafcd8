// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import Glibc
import LabCommand
import Records
import ServiceKit
import Settings
import TestSupport
import Testing

@Suite struct KeyFolderTests {
  private let credentials = [
    KeyFolder.Credential(teamID: "TEAM000001", keyID: "KEY0000001", apps: ["*"]),
    KeyFolder.Credential(
      teamID: "TEAM000002", keyID: "KEY0000002", apps: ["com.example.a"], environment: .sandbox),
  ]

  private let apps = ["com.example.app"]

  private func withFolder(_ body: (KeyFolder) throws -> Void) throws {
    var template = Array("/tmp/martlet-keys-XXXXXX".utf8CString)
    let parent = try #require(mkdtemp(&template).map { String(cString: $0) })
    let folder = KeyFolder("\(parent)/keys")
    defer {
      for name in folder.fileNames(credentials, clientApps: apps) {
        unlink("\(folder.path)/\(name)")
      }
      rmdir(folder.path)
      rmdir(parent)
    }
    try body(folder)
  }

  @Test func `every file is made, for its owner only`() throws {
    try withFolder { folder in
      try folder.generate(credentials)
      for name in folder.fileNames(credentials) {
        #expect(try FileExposure("\(folder.path)/\(name)").mode & 0o077 == 0, "\(name)")
      }
    }
  }

  @Test func `the lists name the keys, and the public ones belong to the private ones`() throws {
    try withFolder { folder in
      try folder.generate(credentials)
      let signing = try JSONDocument(File.read(folder.credentials)).root["credentials"]?.array
      let checking = try JSONDocument(File.read(folder.gatewayKeys)).root["keys"]?.array
      let first = try #require(signing?.first)
      #expect(first["environment"]?.string == "any")
      #expect(first["apps"]?.array == ["*"])
      #expect(signing?.last?["environment"]?.string == "sandbox")
      let keyFile = try #require(first["key_file"]?.string)
      let publicFile = try #require(checking?.first?["public_key_file"]?.string)
      let key = try SigningKey.load("\(folder.path)/\(keyFile)")
      let publicKey = try PublicKey(pem: File.read("\(folder.path)/\(publicFile)"))
      #expect(publicKey.verifies([1, 2], rawSignature: try key.signES256([1, 2])))
    }
  }

  @Test func `a set that could not be completed has no credentials`() throws {
    try withFolder { folder in
      // A list that cannot be written.
      for path in [folder.path, folder.gatewayKeys] { try File.makeFolder(path) }
      defer { rmdir(folder.gatewayKeys) }
      #expect(throws: KeyFolderError.self) { try folder.generate(credentials, overwrite: true) }
      #expect(!File.exists(folder.credentials))
    }
  }

  @Test func `nothing is replaced unless asked for`() throws {
    try withFolder { folder in
      try folder.generate(credentials)
      let before = try File.read(folder.root)
      #expect(throws: KeyFolderError.self) { try folder.generate(credentials) }
      #expect(try File.read(folder.root) == before)
      try folder.generate(credentials, overwrite: true)
      #expect(try File.read(folder.root) != before)
    }
  }

  @Test func `one file that is there stops everything before it is touched`() throws {
    try withFolder { folder in
      try folder.generate(credentials)
      unlink(folder.credentials)
      #expect(throws: KeyFolderError.self) { try folder.generate(credentials) }
      #expect(!File.exists(folder.credentials))
    }
  }

  @Test func `client certificates of every kind are made for an app, under the same root`() throws {
    try withFolder { folder in
      try folder.generate(credentials, clientApps: apps)
      let names = folder.fileNames(credentials, clientApps: apps).filter {
        $0.hasPrefix("client-") && $0.hasSuffix(".pem") && !$0.hasSuffix("-key.pem")
      }
      #expect(names.count == 6)
      func facts(_ kind: String) throws -> PushCertificate {
        try PushCertificate(pem: File.read("\(folder.path)/client-com.example.app\(kind).pem"))
      }
      #expect(try facts("").topics.count == 3)
      #expect(try facts("-single").topics == ["com.example.app"])
      #expect(try !facts("-sandbox").servesProduction)
      #expect(try !facts("-production").servesSandbox)
      #expect(try facts("-expired").expiresAt < facts("").expiresAt - 31_000_000)
      #expect(try facts("-voip").topics == ["com.example.app.voip"])
      #expect(try FileExposure("\(folder.path)/client-com.example.app.p12").mode & 0o077 == 0)
      #expect(try FileExposure("\(folder.path)/client-com.example.app-key.pem").mode & 0o077 == 0)
    }
  }

  @Test func `apps that the signer refuses are not written`() throws {
    for apps in ["a.b a.c", "a.*", "*,a.b"] {
      let error = #expect(throws: SettingErrors.self) {
        _ = try KeysGenerateCommand.settings(KeysGenerateCommand.values(["keys", "--apps", apps]))
      }
      #expect(error?.errors.first?.setting == "apps", "\(apps)")
    }
    _ = try KeysGenerateCommand.settings(KeysGenerateCommand.values(["keys", "--apps", "a.b,a.c"]))
  }
}
