// SPDX-License-Identifier: Apache-2.0
import Records

/// The rules that a pod of deploy/kubernetes keeps: those of Kubernetes' Pod Security Standard "restricted", and ours: a
/// read-only root file system, bounds for processor and memory, and no token for Kubernetes' own API.
enum PodSecurity {
  private static let volumeKinds: Set<String> = [
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim",
    "projected", "secret",
  ]

  /// What the pod breaks.
  static func violations(_ pod: JSONValue) -> [String] {
    var found: [String] = []
    for name in ["hostNetwork", "hostPID", "hostIPC"] where pod[name]?.bool == true {
      found.append(name)
    }
    for volume in pod["volumes"]?.array ?? [] {
      let kinds = Set(volume.object?.keys ?? []).subtracting(["name"])
      if !kinds.isSubset(of: volumeKinds) { found.append("volumes") }
    }
    let context = pod["securityContext"]
    if context?["runAsNonRoot"]?.bool != true { found.append("runAsNonRoot") }
    if (context?["runAsUser"]?.int ?? 0) == 0 { found.append("runAsUser") }
    if context?["seccompProfile"]?["type"]?.string != "RuntimeDefault" {
      found.append("seccompProfile")
    }
    if pod["automountServiceAccountToken"]?.bool != false { found.append("automount") }
    let containers = (pod["containers"]?.array ?? []) + (pod["initContainers"]?.array ?? [])
    return found + containers.flatMap(containerViolations)
  }

  private static func containerViolations(_ container: JSONValue) -> [String] {
    var found: [String] = []
    let context = container["securityContext"]
    if context?["privileged"]?.bool == true { found.append("privileged") }
    if context?["allowPrivilegeEscalation"]?.bool != false {
      found.append("allowPrivilegeEscalation")
    }
    if context?["readOnlyRootFilesystem"]?.bool != true { found.append("readOnlyRootFilesystem") }
    if context?["capabilities"] != ["drop": ["ALL"]] { found.append("capabilities") }
    if (container["ports"]?.array ?? []).contains(where: { $0["hostPort"] != nil }) {
      found.append("hostPort")
    }
    for side in ["requests", "limits"] {
      for name in ["cpu", "memory"] where container["resources"]?[side]?[name]?.string == nil {
        found.append("\(side).\(name)")
      }
    }
    return found
  }
}
