// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Records
import ServiceKit
import TestSupport
import Testing

/// deploy/docker/compose.yaml, without Docker: the schema of the Compose Specification, and the rules of this file.
@Suite struct ComposeTests {
  private func compose() throws -> JSONValue {
    try #require(try DeployedFiles.documents(in: "docker/compose.yaml").first?.value)
  }

  private func services() throws -> [JSONObject.Member] {
    try compose()["services"]?.object?.members ?? []
  }

  private func texts(_ value: JSONValue?) -> [String] { value?.array?.compactMap(\.string) ?? [] }

  @Test func `compose.yaml fits the Compose Specification`() throws {
    let run = try BuiltProgram.run(
      SystemProgram.python(),
      [
        "-B", "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec",
        "\(DeployedFiles.folder)/docker/compose.yaml",
      ], in: TemporaryFolder())
    #expect(run.status == 0, "\(run.output)")
  }

  @Test func `every image has a version, and every port is this machine's own`() throws {
    #expect(try !services().isEmpty)
    for (name, service) in try services().map({ ($0.key, $0.value) }) {
      let image = try #require(service["image"]?.string, "\(name)")
      #expect(image.contains(#/:v?\d+\.\d+(\.\d+)?$/#), "\(name): \(image)")
      if image.hasPrefix("martlet:") { #expect(image == "martlet:\(Version.text)") }
      for port in texts(service["ports"]) { #expect(port.hasPrefix("127.0.0.1:"), "\(name)") }
    }
  }

  @Test func `our containers write on volumes alone and have no rights`() throws {
    for service in try services()
    where service.value["image"]?.string?.hasPrefix("martlet:") == true {
      #expect(service.value["read_only"]?.bool == true, "\(service.key)")
      #expect(texts(service.value["cap_drop"]) == ["ALL"], "\(service.key)")
      #expect(texts(service.value["security_opt"]) == ["no-new-privileges:true"], "\(service.key)")
      #expect(service.value["user"] == nil && service.value["privileged"] == nil, "\(service.key)")
    }
  }

  @Test func `what services name exists: each other, volumes, networks, files`() throws {
    let compose = try compose()
    let names = try services().map(\.key)
    let volumes = compose["volumes"]?.object?.keys ?? []
    let networks = compose["networks"]?.object?.keys ?? []
    for service in try services() {
      let needed = service.value["depends_on"]
      let others = needed?.object?.keys ?? texts(needed)
      #expect(Set(others).isSubset(of: names), "\(service.key)")
      #expect(Set(texts(service.value["networks"])).isSubset(of: networks), "\(service.key)")
      for volume in texts(service.value["volumes"]) {
        let source = String(volume.prefix { $0 != ":" })
        // A volume of its own, without a name.
        if source == volume { continue }
        let exists =
          source.hasPrefix(".")
          ? File.exists("\(DeployedFiles.folder)/docker/\(source)") : volumes.contains(source)
        #expect(exists, "\(service.key): \(source)")
      }
    }
  }

  @Test
  func `a process that keeps notes of crashes can write them, and its keys it only reads`() throws {
    let writers = ["ingest", "sender", "signer", "feedback", "webhooks"]
    for service in try services() where writers.contains(service.key) {
      let volumes = texts(service.value["volumes"])
      #expect(volumes.contains("/var/lib/martlet"), "\(service.key)")
      #expect(volumes.allSatisfy { !$0.contains(":") || $0.hasSuffix(":ro") }, "\(service.key)")
    }
  }

  @Test func `addresses inside name a service and a port that it opens`() throws {
    let services = try compose()["services"]
    let listeners = services?["kafka"]?["environment"]?["KAFKA_LISTENERS"]?.string ?? ""
    let simulator = texts(services?["simulator"]?["command"]).joined(separator: " ")
    var seen: Set<String> = []
    for container in try ManifestContainer.ofCompose() {
      for word in container.words {
        guard let match = word.firstMatch(of: #/(?:^|=)([a-z]+):(\d+)$/#) else { continue }
        seen.insert(String(match.1))
        let open = match.1 == "kafka" ? listeners : simulator
        #expect(open.contains(":\(match.2)"), "\(container.place): \(word)")
      }
    }
    #expect(seen == ["kafka", "simulator"])
  }

  @Test func `Prometheus scrapes every process, with the rules that are mounted`() throws {
    let scrape = try DeployedFiles.documents(in: "docker/prometheus.yaml").first?.value
    let targets = scrape?["scrape_configs"]?.array?.first?["dns_sd_configs"]?.array?.first
    let processes = try services().filter { service in
      service.value["image"]?.string?.hasPrefix("martlet:") == true
        && service.value["healthcheck"]?["disable"]?.bool != true
    }
    #expect(Set(texts(targets?["names"])) == Set(processes.map(\.key)))
    // As in the container: the rules beside the configuration.
    let folder = TemporaryFolder()
    for (path, name) in [
      ("docker/prometheus.yaml", "prometheus.yml"), ("prometheus/rules.yaml", "rules.yaml"),
    ] {
      try File.write(folder.file(name), Array(try DeployedFiles.text(path).utf8))
    }
    let run = try BuiltProgram.run(
      SystemProgram.promtool(), ["check", "config", folder.file("prometheus.yml")], in: folder)
    #expect(run.status == 0, "\(run.output)")
  }

  @Test
  func `webhooks get a subscription with a secret of its own, which only they can read`() throws {
    let service = try compose()["services"]?["subscriptions"]
    let folder = TemporaryFolder()
    let file = folder.file("subscriptions.json")
    let words = texts(service?["command"])
    let script = try #require(words.last)
      .replacing("$$", with: "$").replacing("/var/lib/martlet", with: folder.path)
    for _ in 0..<2 {
      let made = try BuiltProgram.run("/bin/sh", ["-c", script], in: folder)
      #expect(made.status == 0 && made.output.isEmpty, "\(made.output)")
    }
    let webhooks = try #require(
      try ManifestContainer.ofCompose().first { $0.words[0] == "martlet-webhooks" })
    // The program itself reads the file, which it refuses if others can read it.
    let checked = try BuiltProgram.run(
      ChildProcess.sibling("martlet-webhooks"),
      webhooks.words.dropFirst().map { $0.replacing("/etc/martlet", with: folder.path) }
        + ["--check-config"], in: folder)
    #expect(checked.status == 0, "\(checked.output)")
    let url = try JSONDocument(try File.read(file)).root.array?.first?["url"]?.string
    let receiver = try #require(url?.firstMatch(of: #/http://([a-z]+):(\d+)//#))
    #expect(try services().contains { $0.key == receiver.1 })
    let settings = try DeployedFiles.text("docker/receiver.conf")
    #expect(settings.contains("listen \(receiver.2);"))
    // nginx makes its folders even for a check: here, not in /tmp.
    let copy = folder.file("receiver.conf")
    let here = settings.replacing("/tmp/", with: "\(folder.path)/")
    try File.write(copy, Array(here.utf8), mode: 0o644)
    let nginx = try BuiltProgram.run(SystemProgram.nginx(), ["-t", "-c", copy], in: folder)
    #expect(nginx.status == 0, "\(nginx.output)")
  }

  @Test func `the traffic is requests that ingest accepts`() throws {
    let run = try BuiltProgram.run(
      "/bin/sh", ["\(DeployedFiles.folder)/docker/traffic.sh", "3"], in: TemporaryFolder())
    let lines = run.output.split(separator: "\n")
    #expect(run.status == 0 && lines.count == 3)
    #expect(Set(lines).count == 3)
    for line in lines {
      let request = try JSONDocument(String(line)).root
      #expect(request["token"]?.string?.count == 64 && request["app"] == "com.example.app")
      #expect(request["payload"]?["aps"]?["alert"]?["title"] != nil)
    }
  }
}
