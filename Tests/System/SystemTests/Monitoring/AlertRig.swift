// SPDX-License-Identifier: Apache-2.0
import EventLoop
import TestSupport
import Testing

/// A pipeline that Prometheus watches.
final class AlertRig {
  let rig: PipelineRig
  private let shim: String
  private var produced = 0

  init() throws {
    rig = try PipelineRig()
    shim = rig.folder.file("shim.so")
  }

  // MARK: Programs

  /// The simulator and the four services.
  func startAll(sender flags: [String] = []) throws {
    try rig.startSimulator()
    try startServices(sender: flags)
  }

  /// The four services, one of them under the shim.
  func startServices(sender flags: [String] = [], underShim shimmed: String = "") throws {
    for name in PipelineRig.services {
      rig.under = name == shimmed ? try shimCommand() : []
      try rig.start(name, name == "martlet-sender" ? flags : [])
    }
    for name in PipelineRig.services {
      try #require(rig.isUp(name), "\(rig[name].output)")
      try #require(
        eventually { StatusPageURL.find(in: rig[name].output) != nil })
    }
  }

  /// A canary through all of it, every two seconds, which is also as long as each has for its receipt.
  func startCanary() throws {
    let device = String(repeating: "ca", count: 32)
    try rig.start(
      "martlet",
      ["--canary", "com.example.app,production,\(device),2s"],
      as: Self.canary, subcommand: ["canary"])
    try #require(
      eventually {
        StatusPageURL.find(in: rig[Self.canary].output) != nil
      }, "\(rig[Self.canary].output)")
  }

  static let canary = "canary"

  /// `http://host:port` of a service's status pages.
  func page(_ name: String) -> String { StatusPageURL.find(in: rig[name].output) ?? "" }

  // MARK: Faults

  private func shimCommand() throws -> [String] {
    let built = try BuiltProgram.run(
      "/usr/bin/cc",
      ["-O2", "-fPIC", "-shared", "-o", shim, Repository.path("benchmarks/chaos-shim.c"), "-ldl"],
      in: rig.folder)
    try #require(built.status == 0, "\(built.output)")
    return ["/usr/bin/env", "LD_PRELOAD=\(shim)", "CHAOS_CONTROL=\(shim).control"]
  }

  /// What a process under the shim sees from now on: milliseconds to add to its clock, and a path that is full.
  func setShim(_ line: String) throws { try File.write("\(shim).control", Array("\(line)\n".utf8)) }

  /// The sender's list of certificates.
  var certificates: String { rig.folder.file("certificates.json") }

  /// A client certificate that ends in some days.
  func writeCertificate(days: Int) throws {
    let subject = "/UID=com.example.certified/CN=Apple Push Services: com.example.certified"
    let made = try BuiltProgram.run(
      try SystemProgram.path("openssl"),
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-keyout", rig.folder.file("client-key.pem"), "-out", rig.folder.file("client.pem"),
        "-days", "\(days)", "-subj", subject,
      ], in: rig.folder)
    try #require(made.status == 0, "\(made.output)")
    try File.write(
      certificates,
      Array(#"[{"certificate_file":"client.pem","key_file":"client-key.pem","#.utf8)
        + Array(#""apps":["com.example.certified"]}]"#.utf8))
  }

  // MARK: Load

  /// Some requests more.
  func sendSome() throws {
    try rig.produceRequests(produced..<produced + 40, padding: 0)
    produced += 40
  }
}
