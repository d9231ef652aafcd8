// SPDX-License-Identifier: Apache-2.0
import Records
import ServiceKit
import TestSupport
import Testing

/// deploy/kubernetes, without a cluster: Kubernetes' own schemas, and what the processes need.
@Suite struct KubernetesTests {
  private func documents(_ kind: String) throws -> [DeployedFiles.Document] {
    try DeployedFiles.documents(in: "kubernetes/").filter { $0.kind == kind }
  }

  private func pod(_ document: DeployedFiles.Document) throws -> JSONValue {
    try #require(document.value["spec"]?["template"]?["spec"], "\(document.path)")
  }

  /// Files of kinds that are Kubernetes' own.
  private func manifests() throws -> [String] {
    let foreign = ["kustomization.yaml", "scaling.yaml", "scaling-tests.yaml"]
    return try DeployedFiles.paths().filter { path in
      path.hasPrefix("kubernetes/") && !foreign.contains { path.hasSuffix("/\($0)") }
    }
  }

  @Test func `every manifest fits the schemas of Kubernetes, without unknown fields`() throws {
    let run = try BuiltProgram.run(
      SystemProgram.python(),
      ["-B", "-m", "kubernetes_validate", "--strict", "--kubernetes-version", "1.33.0"]
        + manifests().map { "\(DeployedFiles.folder)/\($0)" },
      in: TemporaryFolder(), withinMilliseconds: 120_000)
    #expect(run.status == 0, "\(run.output)")
    // One line per resource.
    let count = try manifests().map { try DeployedFiles.documents(in: $0).count }.reduce(0, +)
    #expect(run.output.split(separator: "\n").count { $0.contains(" passed ") } == count)
  }

  @Test func `every pod keeps the rules of Pod Security restricted`() throws {
    let loads = try documents("StatefulSet") + documents("Deployment") + documents("Job")
    #expect(!loads.isEmpty)
    for document in loads {
      #expect(PodSecurity.violations(try pod(document)) == [], "\(document.path)")
    }
    let labels = try documents("Namespace").first?.value["metadata"]?["labels"]
    #expect(labels?["pod-security.kubernetes.io/enforce"]?.string == "restricted")
  }

  @Test func `a pod that says nothing, or asks for the host, breaks the rules`() {
    let bare: JSONValue = ["containers": [["name": "a"]]]
    #expect(
      PodSecurity.violations(bare) == [
        "runAsNonRoot", "runAsUser", "seccompProfile", "automount", "allowPrivilegeEscalation",
        "readOnlyRootFilesystem", "capabilities", "requests.cpu", "requests.memory", "limits.cpu",
        "limits.memory",
      ])
    let host: JSONValue = ["hostPID": true, "volumes": [["name": "a", "hostPath": ["path": "/"]]]]
    #expect(PodSecurity.violations(host).prefix(2) == ["hostPID", "volumes"])
  }

  @Test func `every process is probed, named in its group, and drained one at a time`() throws {
    for document in try documents("StatefulSet") {
      let pod = try pod(document)
      let container = try #require(pod["containers"]?.array?.first)
      for (probe, page) in [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")] {
        let request = container[probe]?["httpGet"]
        #expect(request == ["path": .string(page), "port": "http"], "\(document.path)")
      }
      #expect(container["ports"] == [["name": "http", "containerPort": 9470]])
      let name = container["env"]?.array?.first { $0["name"] == "MARTLET_INSTANCE_ID" }
      #expect(name?["valueFrom"]?["fieldRef"]?["fieldPath"]?.string == "metadata.name")
      let selector = document.value["spec"]?["selector"]
      let labels = document.value["spec"]?["template"]?["metadata"]?["labels"]
      #expect(selector?["matchLabels"] == labels, "\(document.path)")
      let budget = try documents("PodDisruptionBudget").first { $0.name == document.name }
      #expect(budget?.value["spec"]?["selector"] == selector, "\(document.path)")
      #expect(budget?.value["spec"]?["maxUnavailable"]?.int == 1)
      let service = try documents("Service").first {
        $0.name == document.value["spec"]?["serviceName"]?.string
      }
      #expect(service?.value["spec"]?["selector"] == labels, "\(document.path)")
    }
  }

  @Test func `the canary is probed and scraped, and runs nowhere until it has a target`() throws {
    let canary = try #require(try documents("Deployment").first { $0.name == "canary" })
    let container = try #require(try pod(canary)["containers"]?.array?.first)
    for (probe, page) in [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")] {
      #expect(container[probe]?["httpGet"] == ["path": .string(page), "port": "http"])
    }
    let service = try documents("Service").first { $0.name == canary.name }
    let labels = canary.value["spec"]?["template"]?["metadata"]?["labels"]
    #expect(service?.value["spec"]?["selector"] == labels)
    #expect(canary.value["spec"]?["selector"]?["matchLabels"] == labels)
    #expect(canary.value["spec"]?["replicas"]?.int == 0)
  }

  @Test
  func `the HTTP API is probed, drained one at a time, and reached by its clients alone`() throws {
    let api = try #require(try documents("Deployment").first { $0.name == "api" })
    let container = try #require(try pod(api)["containers"]?.array?.first)
    for (probe, page) in [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")] {
      #expect(container[probe]?["httpGet"] == ["path": .string(page), "port": "http"])
    }
    let ports: JSONValue = [
      ["name": "http", "containerPort": 9470], ["name": "api", "containerPort": 8080],
    ]
    #expect(container["ports"] == ports)
    // Its port stays open until no node leads clients to it.
    #expect(container["lifecycle"]?["preStop"] == ["exec": ["command": ["sleep", "5"]]])
    let labels = api.value["spec"]?["template"]?["metadata"]?["labels"]
    #expect(api.value["spec"]?["selector"]?["matchLabels"] == labels)
    let service = try documents("Service").first { $0.name == api.name }?.value["spec"]
    #expect(service?["selector"] == labels)
    #expect(service?["ports"] == [["name": "api", "port": 8080, "targetPort": "api"]])
    let budget = try documents("PodDisruptionBudget").first { $0.name == api.name }
    #expect(budget?.value["spec"]?["selector"]?["matchLabels"] == labels)
    let policy = try documents("NetworkPolicy").first { $0.name == api.name }?.value["spec"]
    #expect(policy?["podSelector"]?["matchLabels"] == labels)
    let rule = try #require(policy?["ingress"]?.array?.first)
    #expect(rule["ports"] == [["protocol": "TCP", "port": "api"]])
    #expect(rule["from"]?.array?.first?["namespaceSelector"]?["matchLabels"] != nil)
  }

  /// Mode 0440 for the group of the pod: what the processes take for a secret.
  @Test func `secrets are files that only the pod's group may read`() throws {
    var secrets: [String: Set<String>] = [:]
    for document in try documents("StatefulSet") + documents("Deployment") {
      let pod = try pod(document)
      for volume in pod["volumes"]?.array ?? [] {
        guard let secret = volume["secret"] else { continue }
        #expect(secret["defaultMode"]?.int == 0o440, "\(document.path)")
        #expect(pod["securityContext"]?["fsGroup"] == pod["securityContext"]?["runAsGroup"])
        secrets[document.name, default: []].insert(secret["secretName"]?.string ?? "")
      }
    }
    #expect(
      secrets == [
        "signer": ["signer-keys", "token-key"], "sender": ["token-key"],
        "webhooks": ["webhook-subscriptions"], "api": ["api-keys"],
      ])
  }

  /// Whether a rule allows only blocks without Apple's addresses.
  private func leavesAppleOut(_ rule: JSONValue) -> Bool {
    let blocks = (rule["to"]?.array ?? []).map { $0["ipBlock"]?["except"]?.array ?? [] }
    return !blocks.isEmpty && blocks.allSatisfy { $0.contains("17.0.0.0/8") }
  }

  @Test
  func `only senders reach Apple, and only Prometheus reaches processes besides the API`() throws {
    let policies = try documents("NetworkPolicy").map { ($0.name, $0.value["spec"] ?? .null) }
    let deny = policies.first { $0.0 == "deny" }?.1
    #expect(deny == ["podSelector": [:], "policyTypes": ["Ingress", "Egress"]])
    var reachApple: [String?] = []
    for (name, policy) in policies {
      let ports = (policy["egress"]?.array ?? []).filter { !leavesAppleOut($0) }
        .flatMap { $0["ports"]?.array ?? [] }
      if ports.contains(where: { $0["port"] == 443 || $0["port"] == 2197 }) {
        let selected = policy["podSelector"]?["matchLabels"]?["app.kubernetes.io/name"]
        reachApple.append(selected?.string)
      }
      for rule in policy["ingress"]?.array ?? [] where name != "api" {
        #expect(rule["from"]?.array?.isEmpty == false, "\(name)")
        #expect(rule["ports"] == [["protocol": "TCP", "port": "http"]], "\(name)")
      }
    }
    #expect(reachApple == ["sender"])
    let kafka = policies.first { $0.0 == "kafka" }?.1["egress"]?.array?.first
    let port = try #require(kafka?["ports"]?.array?.first?["port"]?.int)
    let settings = try documents("ConfigMap").first?.value["data"]?.object?.members ?? []
    for file in settings {
      let line = file.value.string?.split(separator: "\n").first { $0.hasPrefix("kafka = ") }
      let brokers = line?.split(separator: "= ").last?.split(separator: ",") ?? []
      #expect(!brokers.isEmpty && brokers.allSatisfy { $0.hasSuffix(":\(port)") }, "\(file.key)")
    }
  }

  @Test
  func `kustomization.yaml lists every manifest, and all name the image of this version`() throws {
    let list = try DeployedFiles.documents(in: "kubernetes/kustomization.yaml").first?.value
    let listed = Set(list?["resources"]?.array?.compactMap(\.string) ?? [])
    let own = try manifests().map { String($0.dropFirst("kubernetes/".count)) }
    #expect(listed == Set(own + ["scaling.yaml"]))
    #expect(list?["images"]?.array?.first?["newTag"]?.string == Version.text)
    for document in try documents("StatefulSet") + documents("Deployment") + documents("Job") {
      let image = try pod(document)["containers"]?.array?.first?["image"]?.string
      #expect(image == "martlet:\(Version.text)", "\(document.path)")
    }
  }
}
