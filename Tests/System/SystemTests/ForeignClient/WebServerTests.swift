// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import TestSupport
import Testing

/// Web servers that speak HTTP/2 in their own ways: nginx leaves after so many requests, h2o says nothing of its
/// compression table although the client wants none.
@Suite(.serialized) struct WebServerTests {
  enum Server: String, CaseIterable { case nginx, h2o }

  /// Debian 13 has no h2o.
  private static let servers = Server.allCases.filter {
    $0 != .h2o || (try? SystemProgram.h2o()) != nil
  }

  @Test(arguments: servers)
  func `every push is delivered once and a dead token is reported, also when the server leaves`(
    _ server: Server
  ) throws {
    let folder = TemporaryFolder()
    let keys = try GeneratedKeys(in: folder)
    let (program, port) = try start(server, keys, in: folder)
    let leg = try SenderLeg(gatewayPort: port, keys: keys, in: folder)
    let healthy = (0..<400).map(DeviceTokens.numbered)
    let receipts = try leg.push(healthy + [DeviceTokens.unregistered])
    leg.stop()

    let delivered = receipts.filter { $0.outcome == "delivered" && $0.status == 200 }
    #expect(Set(delivered.map(\.token)) == Set(healthy))
    #expect(delivered.count == healthy.count)
    let gone = receipts.first { $0.token == DeviceTokens.unregistered }
    #expect(gone?.status == 410)
    #expect(gone?.reason == "Unregistered")
    program.signal(SIGTERM)
    #expect(program.wait() != nil)
  }

  /// nginx's default: a clean GOAWAY after 1,000 requests. A connection that has done its work is replaced at once; as a
  /// failure it would wait for seconds each time.
  @Test func `a server that leaves after each 1,000 pushes delays none by a second`() throws {
    let folder = TemporaryFolder()
    let keys = try GeneratedKeys(in: folder)
    let (program, port) = try start(.nginx, keys, leavesAfter: 1_000, in: folder)
    let leg = try SenderLeg(gatewayPort: port, keys: keys, in: folder)
    let receipts = try leg.push((0..<10_000).map(DeviceTokens.numbered))
    leg.stop()
    let delivered = receipts.filter { $0.outcome == "delivered" }
    #expect(delivered.count == 10_000)
    let times = receipts.compactMap(\.at).sorted()
    let span = try #require(times.last) - (try #require(times.first))
    // As failures they would be nine; a machine with other work may stand still for some.
    let stills = zip(times, times.dropFirst()).filter { $1 - $0 >= 900 }.count
    print("10,000 pushes, a GOAWAY after each 1,000: \(span) ms from the first answer to the last")
    #expect(stills < 6)
    program.signal(SIGTERM)
    #expect(program.wait() != nil)
  }

  private func start(
    _ server: Server, _ keys: GeneratedKeys, leavesAfter requests: Int = 100,
    in folder: TemporaryFolder
  ) throws -> (BuiltProgram, UInt16) {
    var output = ""
    // They do not take free ports by themselves.
    for _ in 0..<5 {
      let port = try FreePort.find()
      let file = folder.file("server.conf")
      let program: BuiltProgram
      switch server {
      case .nginx:
        try File.write(file, Array(Self.nginx(port, keys, requests, folder).utf8))
        program = try BuiltProgram.start(
          path: SystemProgram.nginx(), ["-p", folder.path, "-c", file], in: folder)
      case .h2o:
        try File.write(file, Array(Self.h2o(port, keys).utf8))
        let path = try SystemProgram.h2o()
        // Its scripts are beside it.
        let root = "H2O_ROOT=" + path.split(separator: "/").dropLast(2).reduce("") { "\($0)/\($1)" }
        program = try BuiltProgram.start(
          path: SystemProgram.path("env"), [root, path, "-c", file], in: folder)
      }
      if program.listeningPort() == port { return (program, port) }
      output = program.output
    }
    throw ServerDidNotStart(output: output)
  }

  /// GOAWAY after every so many requests.
  private static func nginx(
    _ port: UInt16, _ keys: GeneratedKeys, _ requests: Int, _ folder: TemporaryFolder
  ) -> String {
    """
    daemon off;
    master_process off;
    pid \(folder.file("nginx.pid"));
    error_log stderr;
    events { worker_connections 64; }
    http {
      access_log off;
      client_body_temp_path \(folder.file("bodies"));
      proxy_temp_path \(folder.file("proxy"));
      fastcgi_temp_path \(folder.file("fastcgi"));
      uwsgi_temp_path \(folder.file("uwsgi"));
      scgi_temp_path \(folder.file("scgi"));
      server {
        listen 127.0.0.1:\(port) ssl http2;
        ssl_certificate \(keys.certificate);
        ssl_certificate_key \(keys.certificateKey);
        keepalive_requests \(requests);
        add_header apns-id $http_apns_id always;
        location = /3/device/\(DeviceTokens.unregistered) {
          return 410 '{"reason":"Unregistered"}';
        }
        location /3/device/ { return 200; }
      }
    }

    """
  }

  /// Started by root it would become `nobody`, who may not be let into the folder of the checkout, where its scripts are.
  private static func h2o(_ port: UInt16, _ keys: GeneratedKeys) -> String {
    """
    \(geteuid() == 0 ? "user: root" : "")
    num-threads: 1
    listen:
      host: 127.0.0.1
      port: \(port)
      ssl:
        certificate-file: \(keys.certificate)
        key-file: \(keys.certificateKey)
        ocsp-update-interval: 0
    hosts:
      localhost:
        paths:
          /3/device/:
            mruby.handler: |
              Proc.new do |env|
                id = {"apns-id" => env["HTTP_APNS_ID"]}
                if env["PATH_INFO"].include?("\(DeviceTokens.unregistered)")
                  [410, id, ['{"reason":"Unregistered"}']]
                else
                  [200, id, [""]]
                end
              end

    """
  }
}

struct ServerDidNotStart: Error {
  let output: String
}
