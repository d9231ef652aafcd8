// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Records
import TestSupport
import Testing

/// The files of .github and .devcontainer, without the services that read them.
@Suite struct ForgeTests {
  private func tool(_ name: String, _ arguments: [String]) throws {
    let run = try BuiltProgram.run(SystemProgram.python(name), arguments, in: TemporaryFolder())
    #expect(run.status == 0, "\(name): \(run.output)")
  }

  private func yaml(_ path: String) throws -> JSONValue {
    let script = Repository.path("Tests/System/DeployTests/Python/yaml_to_json.py")
    let run = try BuiltProgram.run(
      try SystemProgram.python(), ["-B", script, Repository.path(path)], in: TemporaryFolder())
    return try JSONDocument(run.output.split(separator: "\n").first.map(String.init) ?? "")
      .root["document"] ?? .null
  }

  @Test
  func `actionlint has no objection to the workflow, whose Swift is the one of releases`() throws {
    let path = ".github/workflows/test.yaml"
    try tool("actionlint", ["-no-color", Repository.path(path)])
    let workflow = try Repository.text(path)
    #expect(workflow.contains("run: .ci/run\n") && workflow.contains("run: .ci/run --full\n"))
    let swift = try DeployedFiles.text("docker/Dockerfile").firstMatch(
      of: #/ARG SWIFT=swift-(\S+)-RELEASE/#)
    #expect(workflow.contains("image: swift:\(try #require(swift).1)-bookworm\n"))
  }

  @Test func `actions stand by commit, with their version beside it`() throws {
    let uses = try Repository.text(".github/workflows/test.yaml").split(separator: "\n").filter {
      $0.contains("uses:")
    }
    #expect(!uses.isEmpty)
    for line in uses {
      #expect(line.contains(#/uses: actions\/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/#), "\(line)")
    }
  }

  @Test(arguments: ["bug", "proposal"])
  func `a form has what GitHub asks for`(name: String) throws {
    let form = try yaml(".github/ISSUE_TEMPLATE/\(name).yaml")
    #expect(form["name"]?.string != nil && form["description"]?.string != nil)
    let fields = try #require(form["body"]?.array)
    var ids: Set<String> = []
    for field in fields {
      let type = field["type"]?.string ?? ""
      #expect(["markdown", "textarea", "input", "dropdown", "checkboxes"].contains(type))
      guard type != "markdown" else {
        #expect(field["attributes"]?["value"]?.string != nil)
        continue
      }
      #expect(field["attributes"]?["label"]?.string != nil)
      let isNew = ids.insert(field["id"]?.string ?? "").inserted
      #expect(isNew)
      if type == "dropdown" { #expect((field["attributes"]?["options"]?.array?.count ?? 0) > 1) }
    }
    #expect(!ids.contains(""))
  }

  @Test func `owners are named for places that exist`() throws {
    let lines = try Repository.text(".github/CODEOWNERS").split(separator: "\n").filter {
      !$0.hasPrefix("#")
    }
    for line in lines where !line.hasPrefix("* ") {
      let place = line.prefix { $0 != " " }
      #expect(File.exists(Repository.root + place.trimmedSlash), "\(line)")
    }
  }

  @Test
  func `the development container is the newer Debian, with what scripts/setup installs`() throws {
    let lines = try Repository.text(".devcontainer/devcontainer.json").split(separator: "\n").filter
    {
      !$0.drop { $0 == " " }.hasPrefix("//")
    }
    let container = try JSONDocument(lines.joined(separator: "\n")).root
    #expect(container["build"]?["dockerfile"]?.string == "Dockerfile")
    let command = container["postCreateCommand"]?.string ?? ""
    for option in ["--test", "--bench", "--package"] {
      #expect(command.contains("scripts/setup \(option)"))
    }
    #expect(try Repository.text(".devcontainer/Dockerfile").contains("\nFROM debian:13."))
    try tool("hadolint", [Repository.path(".devcontainer/Dockerfile")])
  }
}

extension Substring {
  /// A folder without the slash behind it.
  fileprivate var trimmedSlash: Substring { hasSuffix("/") ? dropLast() : self }
}
