// SPDX-License-Identifier: Apache-2.0
import SystemTestSupport
import TestSupport
import Testing

/// No file of deploy/ is without a check.
@Suite struct CoveredFilesTests {
  /// Which suite, or step of scripts/test --full, checks the files that an expression finds.
  private static let checks: [(pattern: String, by: String)] = [
    (#"[a-z]+\.properties"#, "DeployTests"),
    (#"topics\.(sh|txt)"#, "DeployTests"),
    (#"rights\.sh"#, "KafkaPageTests"),
    (#"systemd/.*\.service"#, "DeployTests, UnitFilesTests"),
    (#"systemd/.*\.service\.d/secrets\.conf"#, "DeployTests"),
    (#"systemd/martlet\.(sysusers|tmpfiles)\.conf"#, "deploy/debian/test"),
    (#"prometheus/(prometheus|rules|rules-tests|kubernetes)\.yaml"#, "AlertRulesTests"),
    (#"grafana/martlet\.json"#, "AlertRulesTests"),
    (#"faults/[a-z0-9-]+\.json"#, "ReadyMadeScripts"),
    (#"docker/(compose|prometheus)\.yaml"#, "ComposeTests, ManifestSettingsTests"),
    (#"docker/grafana/[a-z]+\.yaml"#, "GrafanaProvisioningTests"),
    (#"docker/(traffic\.sh|receiver\.conf)"#, "ComposeTests"),
    (#"docker/Dockerfile(\.dockerignore)?"#, "ImageTests, deploy/docker/test"),
    (#"docker/test"#, "scripts/test --full"),
    (
      #"kubernetes/(kustomization|namespace|settings|topics|api|ingest|signer|sender|feedback|webhooks|scheduler|canary|network)\.yaml"#,
      "KubernetesTests"
    ),
    (#"kubernetes/scaling(-tests)?\.yaml"#, "ScalingTests"),
    (
      #"debian/(control\.in|copyright|lintian-overrides|package|postinst|prerm|postrm|test)"#,
      "deploy/debian/test"
    ),
    (#"debian/boot(ed)?"#, "deploy/debian/test --boot"),
    (#"checkov\.yaml"#, "scripts/test --full"),
    (#"backup-sqlite\.sh"#, "BackupTests"),
    (#"convert-tokens"#, "ConverterTests"),
    (#"python/(wheel|pyproject\.toml|README\.md)"#, "SimulatorWheelTests"),
    (#"python/(src/apns_simulator|tests)/[a-z_]+\.(py|typed)"#, "SimulatorWheelTests"),
  ]

  @Test func `every file of deploy is checked somewhere, and every YAML file can be read`() throws {
    let paths = try DeployedFiles.paths()
    #expect(paths.count > 40)
    let patterns = try Self.checks.map { try Regex($0.pattern) }
    for path in paths {
      let isCovered = try patterns.contains { try $0.wholeMatch(in: path) != nil }
      #expect(isCovered, "deploy/\(path): say in this table which test checks it")
    }
    for (pattern, by) in zip(patterns, Self.checks.map(\.by)) {
      let isNeeded = try paths.contains { try pattern.wholeMatch(in: $0) != nil }
      #expect(isNeeded, "\(by) has no file")
    }
    let read = Set(try DeployedFiles.documents().map(\.path))
    #expect(read == Set(paths.filter { $0.hasSuffix(".yaml") }))
  }
}
