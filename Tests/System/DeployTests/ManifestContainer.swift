// SPDX-License-Identifier: Apache-2.0
import Records

/// A container of Compose or Kubernetes that runs one of our programs.
struct ManifestContainer {
  /// The file and the name in it.
  let place: String
  /// The program and its arguments.
  let words: [String]
  let environment: [String: String]
  /// Folders and files of the container that are mounted.
  let mounts: [String]
  /// Texts of mounted settings, by their path in the container.
  let files: [String: String]

  /// Those of deploy/docker/compose.yaml; a shell's command line counts as the commands in it.
  static func ofCompose() throws -> [ManifestContainer] {
    let services = try DeployedFiles.documents(in: "docker/compose.yaml").first?.value["services"]
    return (services?.object?.members ?? []).flatMap { service -> [ManifestContainer] in
      guard service.value["image"]?.string?.hasPrefix("martlet:") == true else { return [] }
      let words = service.value["command"]?.array?.compactMap(\.string) ?? []
      let mounts = (service.value["volumes"]?.array ?? []).compactMap(\.string).compactMap {
        $0.split(separator: ":").dropFirst().first.map(String.init)
      }
      return commands(of: words).map { command in
        // The image's own variable is for the processes; commands of martlet ignore it.
        let variables = command[0] == "martlet" ? [:] : ["MARTLET_HTTP": "0.0.0.0:9470"]
        return ManifestContainer(
          place: "compose.yaml: \(service.key)", words: command, environment: variables,
          mounts: mounts, files: [:])
      }
    }
  }

  /// Those of deploy/kubernetes.
  static func ofKubernetes() throws -> [ManifestContainer] {
    let documents = try DeployedFiles.documents(in: "kubernetes/")
    let settings = documents.filter { $0.kind == "ConfigMap" }
    return documents.flatMap { document -> [ManifestContainer] in
      let pod = document.value["spec"]?["template"]?["spec"]
      return (pod?["containers"]?.array ?? []).map { container in
        kubernetes(container, in: document, pod, settings)
      }
    }
  }

  private static func kubernetes(
    _ container: JSONValue, in document: DeployedFiles.Document, _ pod: JSONValue?,
    _ settings: [DeployedFiles.Document]
  ) -> ManifestContainer {
    var files: [String: String] = [:]
    let mounts = container["volumeMounts"]?.array ?? []
    for mount in mounts {
      let volume = pod?["volumes"]?.array?.first { $0["name"] == mount["name"] }
      let map = settings.first { $0.name == volume?["configMap"]?["name"]?.string }
      for member in map?.value["data"]?.object?.members ?? [] {
        files["\(mount["mountPath"]?.string ?? "")/\(member.key)"] = member.value.string
      }
    }
    var environment: [String: String] = [:]
    for variable in container["env"]?.array ?? [] {
      environment[variable["name"]?.string ?? ""] = variable["value"]?.string ?? "sender-0"
    }
    let words = ["command", "args"].flatMap { container[$0]?.array?.compactMap(\.string) ?? [] }
    return ManifestContainer(
      place: "\(document.path): \(document.name)", words: words, environment: environment,
      mounts: mounts.compactMap { $0["mountPath"]?.string }, files: files)
  }

  private static func commands(of words: [String]) -> [[String]] {
    guard words.first == "sh" else { return [words] }
    return (words.last ?? "").split(separator: "|").compactMap { part in
      let command = part.split(separator: " ").drop { $0 == "exec" }.map(String.init)
      return command.first?.hasPrefix("martlet") == true ? command : nil
    }
  }
}
