package io.hprof;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.AclEntry;
import java.nio.file.attribute.AclEntryFlag;
import java.nio.file.attribute.AclEntryPermission;
import java.nio.file.attribute.AclEntryType;
import java.nio.file.attribute.AclFileAttributeView;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** Who may write to the files that are extracted: this user alone. */
abstract class Rights {
    /** Returns those of the system that this VM runs on. */
    static Rights ofThisSystem() {
        return File.separatorChar == '\\' ? new Windows() : new Posix();
    }

    /** Returns this user. */
    abstract UserPrincipal user() throws IOException;

    /** Returns what a new folder of this user gets. */
    abstract FileAttribute<?> ofFolder(UserPrincipal user);

    /** Takes the rights of all others to write to a file or a folder. */
    abstract void restrict(Path path, UserPrincipal user) throws IOException;

    /** Returns {@code true} if a folder, which is not a link, belongs to a user, and nobody else may write to it. */
    abstract boolean isOfAlone(Path folder, UserPrincipal user) throws IOException;

    /** Throws an exception, with the reason, if a folder that a user has named can be written to by people unknown. */
    abstract void check(Path folder, UserPrincipal user) throws IOException;

    private static final class Posix extends Rights {
        private static final Set<PosixFilePermission> OWNER_WRITES = PosixFilePermissions.fromString("rwxr-xr-x");

        @Override
        UserPrincipal user() throws IOException {
            return Files.getOwner(Paths.get("/proc/self"));
        }

        @Override
        FileAttribute<?> ofFolder(UserPrincipal user) {
            return PosixFilePermissions.asFileAttribute(OWNER_WRITES);
        }

        @Override
        void restrict(Path path, UserPrincipal user) throws IOException {
            Files.setPosixFilePermissions(path, OWNER_WRITES);
        }

        @Override
        boolean isOfAlone(Path folder, UserPrincipal user) throws IOException {
            PosixFileAttributes found = Files.readAttributes(folder, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
            return found.isDirectory()
                    && found.owner().equals(user)
                    && !found.permissions().contains(PosixFilePermission.GROUP_WRITE)
                    && !found.permissions().contains(PosixFilePermission.OTHERS_WRITE);
        }

        @Override
        void check(Path folder, UserPrincipal user) throws IOException {
            PosixFileAttributes found = Files.readAttributes(folder, PosixFileAttributes.class);
            boolean isTrusted = found.owner().equals(user) || found.owner().getName().equals("root");
            if (!isTrusted || found.permissions().contains(PosixFilePermission.OTHERS_WRITE)) {
                throw new IOException("-Dhprof.folder=" + folder + ": it belongs to " + found.owner().getName() + " ("
                        + PosixFilePermissions.toString(found.permissions())
                        + "); it must be a folder of this user or root that others may not write to");
            }
        }
    }

    private static final class Windows extends Rights {
        private static final Set<AclEntryPermission> WRITES = EnumSet.of(
                AclEntryPermission.ADD_FILE,
                AclEntryPermission.ADD_SUBDIRECTORY,
                AclEntryPermission.DELETE_CHILD,
                AclEntryPermission.WRITE_ACL,
                AclEntryPermission.WRITE_OWNER);
        /** The system and its administrators, who may do anything anyway. */
        private static final List<String> TRUSTED = Arrays.asList("NT AUTHORITY\\SYSTEM", "BUILTIN\\Administrators");

        @Override
        UserPrincipal user() throws IOException {
            // The system makes this user the owner of what is new.
            Path mine = Files.createTempFile("hprof-", "");
            try {
                return Files.getOwner(mine);
            } finally {
                Files.deleteIfExists(mine);
            }
        }

        @Override
        FileAttribute<List<AclEntry>> ofFolder(UserPrincipal user) {
            return new FileAttribute<>() {
                @Override
                public String name() {
                    return "acl:acl";
                }

                @Override
                public List<AclEntry> value() {
                    return ownerAlone(user);
                }
            };
        }

        @Override
        void restrict(Path path, UserPrincipal user) throws IOException {
            view(path).setAcl(ownerAlone(user));
        }

        private static List<AclEntry> ownerAlone(UserPrincipal user) {
            return List.of(AclEntry.newBuilder()
                    .setType(AclEntryType.ALLOW)
                    .setPrincipal(user)
                    .setPermissions(EnumSet.allOf(AclEntryPermission.class))
                    .setFlags(AclEntryFlag.FILE_INHERIT, AclEntryFlag.DIRECTORY_INHERIT)
                    .build());
        }

        private static AclFileAttributeView view(Path path) throws IOException {
            AclFileAttributeView view = Files.getFileAttributeView(path, AclFileAttributeView.class, LinkOption.NOFOLLOW_LINKS);
            if (view == null) {
                throw new IOException(path + ": its file system knows no owners; name a folder on another with -Dhprof.folder=");
            }
            return view;
        }

        @Override
        boolean isOfAlone(Path folder, UserPrincipal user) throws IOException {
            return Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)
                    && view(folder).getOwner().equals(user)
                    && view(folder).getAcl().stream().allMatch(entry -> isHarmless(entry, user));
        }

        private static boolean isHarmless(AclEntry entry, UserPrincipal user) {
            return entry.type() != AclEntryType.ALLOW
                    || entry.principal().equals(user)
                    || TRUSTED.contains(entry.principal().getName())
                    || entry.permissions().stream().noneMatch(WRITES::contains);
        }

        @Override
        void check(Path folder, UserPrincipal user) throws IOException {
            if (!isOfAlone(folder, user)) {
                throw new IOException("-Dhprof.folder=" + folder + ": it belongs to " + view(folder).getOwner().getName()
                        + "; it must be a folder of this user that others may not write to");
            }
        }
    }
}
