// SPDX-License-Identifier: Apache-2.0
import Records
import Testing

/// What Grafana of compose.yaml is told at its start.
@Suite struct GrafanaProvisioningTests {
  private func document(_ path: String) throws -> JSONValue {
    try #require(try DeployedFiles.documents(in: path).first?.value)
  }

  @Test
  func `Grafana's data source is the Prometheus of compose.yaml, and the dashboard is mounted`()
    throws
  {
    let services = try document("docker/compose.yaml")["services"]
    let source = try document("docker/grafana/datasource.yaml")["datasources"]?.array?.first
    #expect(source?["type"] == "prometheus" && source?["isDefault"] == true)
    #expect(source?["url"] == "http://prometheus:9090")
    #expect(services?["prometheus"]?["ports"] == ["127.0.0.1:9090:9090"])
    let provider = try document("docker/grafana/dashboards.yaml")["providers"]?.array?.first
    let folder = try #require(provider?["options"]?["path"]?.string)
    let mounts = services?["grafana"]?["volumes"]?.array?.compactMap(\.string) ?? []
    #expect(mounts.contains("../grafana/martlet.json:\(folder)/martlet.json:ro"))
    #expect(
      services?["grafana"]?["environment"]?["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
        == .string("\(folder)/martlet.json"))
  }
}
