// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
import HTTPClient
import Kafka
import Records
import Telemetry
import TestSupport
import Testing

@testable import API

/// What all small resources have in common.
@Suite(.onOwnThread) struct FrameTests {
  @Test func `a path has values for the names of a route, none of them empty`() {
    func values(_ path: String, of route: String) -> [String]? {
      APIRoute("GET", route) { _ in .read }.values(in: APIRoute.segments(path))
    }
    #expect(values("/v1/paces", of: "/v1/paces") == [])
    #expect(values("/v1/paces/", of: "/v1/paces") == nil)
    #expect(values("/v1/devices/a", of: "/v1/devices/{token}") == ["a"])
    #expect(values("/v1/devices/", of: "/v1/devices/{token}") == nil)
    #expect(values("/v1/devices/a/b", of: "/v1/devices/{token}") == nil)
    #expect(values("/v1/users/a//b", of: "/v1/users/{user...}") == ["a//b"])
    let marks = "\u{301}a/\u{301}b"
    #expect(values("/v1/users/\(marks)", of: "/v1/users/{user...}") == [marks])
    #expect(values("/v1/users", of: "/v1/users/{user...}") == nil)
    #expect(values("/v1/users/", of: "/v1/users/{user...}") == nil)
    #expect(values("/v1/campaigns/a/pause", of: "/v1/campaigns/{name}/pause") == ["a"])
    #expect(values("/v1/campaigns/a/stop", of: "/v1/campaigns/{name}/pause") == nil)
  }

  /// Lines of JSON, which may be packed, are for `POST /v1/notifications` alone.
  @Test func `a refused body is told what its path takes`() throws {
    let fixture = try APIFixture(["--gorush"])
    func refusal(
      _ method: String, _ path: String, _ body: String = "{}", key: String = "operator",
      type: String = "application/json", encoding: String = "identity"
    ) throws -> String {
      let answer = try HTTPClient(timeoutMilliseconds: 30_000).send(
        method, "http://127.0.0.1:\(fixture.port)/\(path)", Array(body.utf8), contentType: type,
        headers: ["Authorization: Bearer \(key)", "Content-Encoding: \(encoding)"])
      let problem = try APIFixture.json(answer.text)
      return "\(answer.status) \((problem["detail"] ?? problem["message"])?.string ?? "")"
    }
    let routes = [
      ("PUT", "v1/devices/ab"), ("PUT", "v1/paces/lane/bulk"), ("POST", "v1/campaigns"),
    ]
    for (method, path) in routes {
      for type in ["application/x-ndjson", "text/plain"] {
        #expect(
          try refusal(method, path, type: type)
            == "415 \"\(type)\" is not supported: send application/json")
      }
    }
    for (method, path) in routes + [("POST", "api/push")] {
      for encoding in ["gzip", "br"] {
        #expect(
          try refusal(method, path, encoding: encoding)
            == "415 \"\(encoding)\" is not supported: send the body as it is")
      }
    }
    let long = String(repeating: " ", count: 5_000)
    #expect(
      try refusal("PUT", "v1/devices/ab", long) == "413 the body has more than 4096 bytes")
    #expect(
      try refusal("POST", "api/push", long, key: "all")
        == "413 the body has more than 4096 bytes; split it")
    #expect(try fixture.post("{}", type: "text/plain").text.contains("x-ndjson"))
  }

  @Test func `a change whose client has gone before Kafka answers is made and counted`() throws {
    let fixture = try APIFixture(embedded: true)
    let path = "devices/\(String(repeating: "ab", count: 32))?app=com.example.shop"
    #expect(try fixture.send("DELETE", path, key: "shop").status == 202)
    try #require(fixture.kafka.broker).setRoundTrip(milliseconds: 1_500)
    let client = try Socket.connecting(to: .loopback(port: fixture.port))
    let head = Array(
      "DELETE /v1/\(path) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer shop\r\n\r\n".utf8)
    #expect(eventually { head.withUnsafeBytes { client.write($0) } == .moved(head.count) })
    func counts(_ metric: String, _ labels: [String], _ count: Int) -> Bool {
      eventually { fixture.value(of: "martlet_api_\(metric)", labels) == .integer(count) }
    }
    #expect(counts("requests_in_flight", [], 1))
    client.abort()
    #expect(counts("http_requests_total", ["aborted"], 1))
    #expect(counts("key_device_changes_total", ["shop", "removed"], 2))
  }
}
